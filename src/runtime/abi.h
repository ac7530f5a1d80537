#pragma once

/* ABI between generated code and its caller. Plain C: it is also compiled into every artifact. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Body of a parallel loop: runs iterations [begin, end) on worker `worker`. Returns 0. */
typedef int32_t (*TwParallelBody)(void* closure, int64_t begin, int64_t end, int32_t worker);

/** Runner of parallel loops. `launch` covers [0, count) with calls of `body` (contiguous parts, any
 *  order, at most `threads` at a time, worker in [0, threads)) and returns when all are done. A
 *  null TwParallel* means one thread, the caller's. */
typedef struct TwParallel {
  void* context;
  int32_t (*launch)(void* context, TwParallelBody body, void* closure, int64_t count);
  int32_t threads;
} TwParallel;

/** Entry point of a kernel. `arguments` are the data pointers of its parameters, 64-byte aligned,
 *  in order; `workspace` has the bytes that TwKernelInfo specifies. Returns 0, or an error code. */
typedef int32_t (*TwKernel)(void* const* arguments, void* workspace, const TwParallel* parallel);

/** Exported as `<name>_prepare` by a kernel that calls a library: loads the library and prepares
 *  the state shared by all calls, including a constant weight if `arguments` (as for the kernel) is
 *  not null. Returns null, or an error text that is valid until TwLibraryForget. Without this call,
 *  the first call of the kernel prepares it. */
typedef const char* (*TwPrepare)(void* const* arguments, const TwParallel* parallel);

/** Exported by every kernel artifact as `<name>_info`. Required workspace with T threads:
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
