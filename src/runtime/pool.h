#pragma once

/* Persistent thread pool for parallel loops. Plain C11 with POSIX threads and nothing else, so that
 * the program and, as libtilewright_rt.a, every compiled model use the same source. */

#include <stdint.h>

#include "src/runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TwPool TwPool;

typedef struct TwPoolOptions {
  int32_t threads;          /* including the calling thread; at least 1 */
  int32_t pin;              /* bind each worker to a separate CPU (never the calling thread) */
  int32_t widen;            /* use all CPUs of the process if the caller is bound to too few */
  int64_t spin_nanoseconds; /* time that an idle worker spins before it sleeps */
} TwPoolOptions;

/** Returns the defaults: threads, pinned, only on the caller's CPUs, 100 us of spinning. */
TwPoolOptions TwPoolDefaults(int32_t threads);

/** Creates a pool; null if memory or threads are lacking. Workers are pinned only if there are at
 *  least as many CPUs as threads: each to one CPU, starting with the one after the caller's. The
 *  CPUs are those that the calling thread may use; with `widen`, and if those are too few, all that
 *  the kernel allows the process, beyond the binding that it was started with. */
TwPool* TwPoolCreate(const TwPoolOptions* options);

/** Waits for the workers to end; in a forked process, which has no workers, only frees the memory.
 *  No launch may be running. */
void TwPoolDestroy(TwPool* pool);

/** Returns the argument for kernels; valid as long as the pool. Several threads may launch at once,
 *  and a body may launch: if the pool is busy, the launcher runs its loop alone, as worker 0. */
const TwParallel* TwPoolParallel(const TwPool* pool);

/** Returns 1 if the pool was created before this process was forked: its threads are missing, and a
 *  launch would never end. */
int32_t TwPoolIsForked(const TwPool* pool);

#ifdef __cplusplus
}
#endif
