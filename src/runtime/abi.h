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
 *  the first call of the kernel prepares it. Also exported by a kernel that multiplies tiles (AMX):
 *  asks the system for the tile registers; the text stays valid. */
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

/** What a kernel multiplies in tile registers (AMX). */
enum { TW_TILES_INT8 = 1, TW_TILES_BF16 = 2 };
/** Return code of a kernel that multiplies tiles where CPU or system do not allow it;
 *  TwTilesProblem returns the reason. */
#define TW_TILES_REFUSED 117

/** Asks the system, once in a process, for the tile registers, which Linux gives on request only.
 *  needs: TW_TILES_INT8, TW_TILES_BF16 or both. Returns null, or the reason why a kernel cannot run
 *  here. Thread-safe (src/runtime/tiles.c). */
const char* TwTilesProblem(int32_t needs);

#ifdef __cplusplus
}
#endif
