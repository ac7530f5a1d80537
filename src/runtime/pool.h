#pragma once

/* A persistent pool of threads for parallel loops. Plain C11 with POSIX threads and nothing else,
 * so that the same source serves the program and, as libtilewright_rt.a, every compiled model. */

#include <stdint.h>

#include "src/runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TwPool TwPool;

typedef struct TwPoolOptions {
  int32_t threads;          /* the calling thread included; at least 1 */
  int32_t pin;              /* bind each worker to a CPU of its own (never the calling thread) */
  int32_t widen;            /* use all CPUs of the process where the caller is bound to too few */
  int64_t spin_nanoseconds; /* how long an idle worker watches for work before it sleeps */
} TwPoolOptions;

/** threads, pinned, on the caller's CPUs alone, 100 us of watching. */
TwPoolOptions TwPoolDefaults(int32_t threads);

/** A pool, or null where memory or threads are lacking. Workers are pinned only if there are at
 * least as many CPUs as threads, each to one, from the one behind the caller's onwards. The CPUs
 * are those that the calling thread may use; with `widen`, and if those are too few, all that the
 * kernel lets the process have, beyond what the process was started with. */
TwPool* TwPoolCreate(const TwPoolOptions* options);

/** Waits for the workers to end; in a process forked since, which has none, frees the memory. No
 * launch may be under way. */
void TwPoolDestroy(TwPool* pool);

/** What a kernel takes; valid as long as the pool. Several threads may launch at once, and a body
 * may launch: who finds the pool occupied runs its loop alone, as worker 0. */
const TwParallel* TwPoolParallel(const TwPool* pool);

/** Whether the pool was made before this process was forked: its threads are not here, and a launch
 * would never end. */
int32_t TwPoolIsForked(const TwPool* pool);

#ifdef __cplusplus
}
#endif
