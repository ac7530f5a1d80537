#pragma once

/* What generated code and its caller agree on. Plain C: it is also compiled into every artifact. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Part of a parallel loop: iterations [begin, end) of it, on worker `worker`. Returns 0. */
typedef int32_t (*TwParallelBody)(void* closure, int64_t begin, int64_t end, int32_t worker);

/** How a kernel runs a parallel loop. `launch` covers [0, count) with calls of `body` (contiguous
 *  parts, any order, at most `threads` at a time, worker in [0, threads)) and returns when all are
 *  done. A null TwParallel* means: one thread, the caller's. */
typedef struct TwParallel {
  void* context;
  int32_t (*launch)(void* context, TwParallelBody body, void* closure, int64_t count);
  int32_t threads;
} TwParallel;

/** Entry point of a kernel: `arguments` are the data pointers of its parameters, 64-byte aligned,
 *  in order; `workspace` has the bytes the artifact asks for (TwKernelInfo). Returns 0, or a code
 *  that says why not. */
typedef int32_t (*TwKernel)(void* const* arguments, void* workspace, const TwParallel* parallel);

/** Exported as `<name>_prepare` by a kernel that calls a library: finds the library and makes ready
 *  what need not be made in every call, a constant weight too if `arguments` (as for the kernel)
 *  is not null. Returns null, or what is wrong, in words that
 *  stay until TwLibraryForget. A kernel that was not prepared does all that in its first call. */
typedef const char* (*TwPrepare)(void* const* arguments, const TwParallel* parallel);

/** Exported by every kernel artifact as `<name>_info`. Workspace bytes needed with T threads:
 *  workspace_bytes + T * workspace_bytes_per_thread. */
typedef struct TwKernelInfo {
  uint32_t abi_version; /* TW_ABI_VERSION */
  uint32_t parameters;
  int64_t workspace_bytes;
  int64_t workspace_bytes_per_thread;
} TwKernelInfo;

#define TW_ABI_VERSION 1u

#ifdef __cplusplus
}
#endif
