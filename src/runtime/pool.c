/* Every worker has a mailbox: the launcher writes the loop into it and raises its ticket; the
 * worker claims the ticket, takes iterations until none are left and copies the ticket to `done`. A
 * launch with fewer parts than threads does not involve the other workers. An idle worker watches
 * its ticket for a while, then sleeps on it (futex); `parked` tells the launcher that a wake-up is
 * needed. Both sides write their flag before they read the other's, sequentially consistent, so no
 * wake-up is lost.
 *
 * Each thread has a share of contiguous iterations, the same ones in every launch of that count, so
 * that its cache contains what it wrote the last time. It takes a quarter of the rest of its share
 * at a time, from the front; a thread without work takes half of another thread's rest, from the
 * back. So a thread that loses its CPU keeps at most what it has taken. The launcher does not wait
 * for a thread that has not started when all is done; it claims that thread's ticket instead. */

#define _GNU_SOURCE
#include "src/runtime/pool.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kMailboxAlignment = 128 }; /* two lines: adjacent-line prefetch pulls pairs */

typedef struct Mailbox {
  _Alignas(kMailboxAlignment) atomic_uint ticket;
  TwParallelBody body; /* null: end the thread */
  void* closure;
  int64_t base; /* offset added to the iterations of the shares */
  int32_t parts, worker;
  struct TwPool* pool;
  int32_t cpu;   /* CPU of the thread, or -1; written only by the launcher once `id` is set */
  atomic_int id; /* thread id for system calls, set when the thread runs on `cpu` */
  int64_t spin_nanoseconds;
  pthread_t thread;
  _Alignas(kMailboxAlignment) atomic_uint done;
  atomic_uint claimed; /* last ticket that its worker claimed, or the launcher took back */
  atomic_uint parked;
  int32_t result;
} Mailbox;

/* Iterations not yet taken: begin in the upper half, end in the lower one. During a launch begin
 * only rises and end only falls. */
typedef struct Share {
  _Alignas(kMailboxAlignment) atomic_ullong range;
} Share;

struct TwPool {
  TwParallel parallel;
  Mailbox* mailboxes; /* of workers 1 .. started */
  Share* shares;      /* of all threads, starting with the caller's */
  int32_t started;
  atomic_flag occupied;
  int32_t free_cpu; /* a CPU without a bound worker, for the caller; -1: workers are not bound */
  long process;     /* process that the workers run in */
};

static void Pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void Park(Mailbox* box, unsigned seen) {
  atomic_store(&box->parked, 1);
  while (atomic_load(&box->ticket) == seen) {
    syscall(SYS_futex, &box->ticket, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  }
  atomic_store(&box->parked, 0);
}

/* Returns the next ticket after `seen`. */
static unsigned AwaitTicket(Mailbox* box, unsigned seen) {
  int64_t deadline = 0;
  for (unsigned round = 1;; ++round) {
    unsigned ticket = atomic_load_explicit(&box->ticket, memory_order_acquire);
    if (ticket != seen) return ticket;
    Pause();
    if (round % 64 != 0) continue;
    const int64_t now = Now();
    if (deadline == 0) deadline = now + box->spin_nanoseconds;
    if (now < deadline) continue;
    Park(box, seen);
  }
}

static uint64_t RangeOf(uint64_t begin, uint64_t end) { return begin << 32 | end; }

/* Takes part of a share: a quarter from the front, or half from the back. Returns 0 if it is
 * empty. */
static int Take(Share* share, int own, int64_t* begin, int64_t* end) {
  unsigned long long range = atomic_load_explicit(&share->range, memory_order_relaxed);
  for (;;) {
    const uint64_t first = range >> 32, last = range & UINT32_MAX;
    if (first >= last) return 0;
    const uint64_t count = (last - first + (own ? 3 : 1)) / (own ? 4 : 2);
    const uint64_t left = own ? RangeOf(first + count, last) : RangeOf(first, last - count);
    if (atomic_compare_exchange_weak_explicit(&share->range, &range, left, memory_order_relaxed,
                                              memory_order_relaxed)) {
      *begin = (int64_t)(own ? first : last - count);
      *end = *begin + (int64_t)count;
      return 1;
    }
  }
}

/* Runs iterations, first those of the thread's share, until all shares are empty. Returns the first
 * code that is not 0. */
static int32_t Drain(TwPool* pool, TwParallelBody body, void* closure, int64_t base, int32_t parts,
                     int32_t worker) {
  int32_t result = 0;
  for (int32_t i = 0; i < parts; ++i) {
    Share* share = &pool->shares[(worker + i) % parts];
    int64_t begin, end;
    while (Take(share, i == 0, &begin, &end)) {
      const int32_t code = body(closure, base + begin, base + end, worker);
      if (result == 0) result = code;
    }
  }
  return result;
}

static void* Work(void* argument) {
  Mailbox* box = argument;
  if (box->cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(box->cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  atomic_store_explicit(&box->id, (int)syscall(SYS_gettid), memory_order_release);
  for (unsigned seen = 0;;) {
    seen = AwaitTicket(box, seen);
    unsigned before = seen - 1;
    if (!atomic_compare_exchange_strong(&box->claimed, &before, seen)) continue;
    if (box->body == NULL) return NULL;
    box->result = Drain(box->pool, box->body, box->closure, box->base, box->parts, box->worker);
    atomic_store_explicit(&box->done, seen, memory_order_release);
  }
}

static void Post(Mailbox* box) {
  atomic_fetch_add(&box->ticket, 1);
  if (atomic_load(&box->parked) != 0) {
    syscall(SYS_futex, &box->ticket, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
}

/* Waits for the worker unless it has not started; returns its result. */
static int32_t Collect(Mailbox* box) {
  const unsigned wanted = atomic_load_explicit(&box->ticket, memory_order_relaxed);
  unsigned before = wanted - 1;
  if (atomic_compare_exchange_strong(&box->claimed, &before, wanted)) return 0;
  for (unsigned round = 1; atomic_load_explicit(&box->done, memory_order_acquire) != wanted;
       ++round) {
    /* 16384 rounds are about a millisecond: the worker has probably lost its CPU. */
    if (round % 16384 == 0) {
      sched_yield();
    } else {
      Pause();
    }
  }
  return box->result;
}

/* Runs a loop of at most 2^32 - 1 iterations, the range of shares. */
static int32_t LaunchShares(TwPool* pool, TwParallelBody body, void* closure, int64_t base,
                            int64_t count, int32_t parts) {
  /* The first count % parts shares are one iteration longer. */
  const int64_t share = count / parts;
  const int64_t longer = count % parts;
  for (int32_t part = 0; part < parts; ++part) {
    const int64_t begin = part * share + (part < longer ? part : longer);
    const int64_t end = begin + share + (part < longer ? 1 : 0);
    atomic_store_explicit(&pool->shares[part].range, RangeOf((uint64_t)begin, (uint64_t)end),
                          memory_order_relaxed);
  }
  for (int32_t part = 1; part < parts; ++part) {
    Mailbox* box = &pool->mailboxes[part - 1];
    box->body = body;
    box->closure = closure;
    box->base = base;
    box->parts = parts;
    box->worker = part;
    Post(box);
  }
  int32_t result = Drain(pool, body, closure, base, parts, 0);
  for (int32_t part = 1; part < parts; ++part) {
    const int32_t code = Collect(&pool->mailboxes[part - 1]);
    if (result == 0) result = code;
  }
  return result;
}

/* If the calling thread has migrated to the CPU of a worker, the two would share it: moves the
 * worker to the caller's former CPU. */
static void LeaveToCaller(TwPool* pool) {
  const int32_t caller = sched_getcpu();
  if (caller == pool->free_cpu || pool->free_cpu < 0) return;
  for (int32_t i = 0; i < pool->started; ++i) {
    Mailbox* box = &pool->mailboxes[i];
    if (box->cpu != caller) continue;
    const int id = atomic_load_explicit(&box->id, memory_order_acquire);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(pool->free_cpu, &set);
    if (id == 0 || sched_setaffinity(id, sizeof set, &set) != 0) return;
    box->cpu = pool->free_cpu;
    pool->free_cpu = caller;
    return;
  }
}

static int32_t Launch(void* context, TwParallelBody body, void* closure, int64_t count) {
  TwPool* pool = context;
  if (count <= 0) return 0;
  const int32_t parts = count < pool->started + 1 ? (int32_t)count : pool->started + 1;
  if (parts == 1 || atomic_flag_test_and_set_explicit(&pool->occupied, memory_order_acquire)) {
    return body(closure, 0, count, 0);
  }
  LeaveToCaller(pool);
  int32_t result = 0;
  for (int64_t base = 0; base < count; base += UINT32_MAX) {
    const int64_t left = count - base < UINT32_MAX ? count - base : UINT32_MAX;
    const int32_t code =
        LaunchShares(pool, body, closure, base, left, left < parts ? (int32_t)left : parts);
    if (result == 0) result = code;
  }
  atomic_flag_clear_explicit(&pool->occupied, memory_order_release);
  return result;
}

/* Adds the CPUs that this process may use beyond the calling thread's binding, by requesting
 * all. */
static void WidenToProcess(cpu_set_t* allowed) {
  cpu_set_t own = *allowed;
  cpu_set_t wide;
  memset(&wide, 0xff, sizeof wide);
  /* The kernel intersects it with the permitted set. */
  if (sched_setaffinity(0, sizeof wide, &wide) == 0) {
    sched_getaffinity(0, sizeof *allowed, allowed);
    sched_setaffinity(0, sizeof own, &own);
  }
}

/* Assigns each worker one of the allowed CPUs, which must suffice, excluding the caller's. Starts
 * after the caller's CPU, so that concurrent processes do not all use the first one. */
static void AssignCpus(TwPool* pool, const cpu_set_t* allowed, int32_t workers) {
  const int caller = sched_getcpu();
  int cpu = caller;
  pool->free_cpu = caller;
  for (int32_t i = 0; i < workers; ++i) {
    do {
      cpu = (cpu + 1) % CPU_SETSIZE;
    } while (cpu == caller || !CPU_ISSET(cpu, allowed));
    pool->mailboxes[i].cpu = cpu;
  }
}

/* Not getpid, which a model linked for another machine would have to import. */
static long ThisProcess(void) { return syscall(SYS_getpid); }

TwPoolOptions TwPoolDefaults(int32_t threads) {
  const TwPoolOptions options = {.threads = threads, .pin = 1, .spin_nanoseconds = 100000};
  return options;
}

/* Threads inherit the caller's binding; a thread without an assigned CPU must not keep it. */
static int Start(Mailbox* box, const cpu_set_t* allowed) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return -1;
  if (box->cpu < 0) pthread_attr_setaffinity_np(&attributes, sizeof *allowed, allowed);
  const int code = pthread_create(&box->thread, &attributes, Work, box);
  pthread_attr_destroy(&attributes);
  return code;
}

TwPool* TwPoolCreate(const TwPoolOptions* options) {
  if (options->threads < 1 || options->threads > CPU_SETSIZE) return NULL;
  TwPool* pool = calloc(1, sizeof *pool);
  if (pool == NULL) return NULL;
  atomic_flag_clear(&pool->occupied);
  pool->free_cpu = -1;
  pool->process = ThisProcess();
  const size_t workers = (size_t)options->threads - 1;
  if (workers > 0) {
    pool->mailboxes = aligned_alloc(kMailboxAlignment, workers * sizeof(Mailbox));
    if (pool->mailboxes == NULL) {
      free(pool);
      return NULL;
    }
    memset(pool->mailboxes, 0, workers * sizeof(Mailbox));
    pool->shares = aligned_alloc(kMailboxAlignment, (workers + 1) * sizeof(Share));
    if (pool->shares == NULL) {
      free(pool->mailboxes);
      free(pool);
      return NULL;
    }
    memset(pool->shares, 0, (workers + 1) * sizeof(Share));
    for (size_t i = 0; i < workers; ++i) {
      pool->mailboxes[i].cpu = -1;
      pool->mailboxes[i].pool = pool;
    }
  }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (options->widen && CPU_COUNT(&allowed) < options->threads) WidenToProcess(&allowed);
  const int enough = CPU_COUNT(&allowed) >= options->threads;
  if (enough && options->pin) AssignCpus(pool, &allowed, options->threads - 1);
  for (size_t i = 0; i < workers; ++i) {
    /* Spinning would only take the CPU from the thread that has the work. */
    pool->mailboxes[i].spin_nanoseconds = enough ? options->spin_nanoseconds : 0;
    if (Start(&pool->mailboxes[i], &allowed) != 0) {
      TwPoolDestroy(pool);
      return NULL;
    }
    ++pool->started;
  }
  pool->parallel.context = pool;
  pool->parallel.launch = Launch;
  pool->parallel.threads = options->threads;
  return pool;
}

void TwPoolDestroy(TwPool* pool) {
  if (pool == NULL) return;
  const int32_t workers = TwPoolIsForked(pool) ? 0 : pool->started;
  for (int32_t i = 0; i < workers; ++i) {
    pool->mailboxes[i].body = NULL;
    Post(&pool->mailboxes[i]);
  }
  for (int32_t i = 0; i < workers; ++i) pthread_join(pool->mailboxes[i].thread, NULL);
  free(pool->mailboxes);
  free(pool->shares);
  free(pool);
}

const TwParallel* TwPoolParallel(const TwPool* pool) { return &pool->parallel; }

int32_t TwPoolIsForked(const TwPool* pool) { return pool->process != ThisProcess(); }
