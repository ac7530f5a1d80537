/* Kernels for dense, float32 [4,16] x [32,16] -> [4,32], each wrong in a way of its own, as
 * artifacts for the fault tests. Every kernel first computes the right result. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/measure/faults/dense_kernel.h"

/* A kernel `name` that computes the result and then does `body`. */
#define KERNEL_WITH(name, version, count, workspace_bytes, body)                             \
  EXPORT const TwKernelInfo name##_info = {version, count, workspace_bytes, 0};              \
  EXPORT int32_t name(void* const* arguments, void* workspace, const TwParallel* parallel) { \
    volatile float* data = arguments[0];                                                     \
    volatile float* weight = arguments[1];                                                   \
    volatile float* out = arguments[2];                                                      \
    (void)data, (void)weight, (void)out, (void)workspace, (void)parallel;                    \
    Dense(arguments);                                                                        \
    ++calls;                                                                                 \
    body;                                                                                    \
    return 0;                                                                                \
  }
#define KERNEL(name, body) KERNEL_WITH(name, TW_ABI_VERSION, 3, 0, body)

static volatile int zero = 0;
static volatile double sink;

static void Sleep(double seconds) {
  const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
}

__attribute__((noinline)) static int Recurse(volatile char* above) {
  volatile char here[4096];
  here[0] = above[0];
  return Recurse(here) + here[0];
}

static void* WriteLate(void* out) {
  Sleep(0.02);
  ((volatile float*)out)[3] = 1e6F;
  return NULL;
}

static void StartLateWriter(volatile float* out) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, &WriteLate, (void*)out) == 0) pthread_detach(thread);
}

static void UseUpMemory(void) {
  const size_t block = (size_t)16 << 20;
  while (1) memset(malloc(block), 1, block);
}

static void Spin(double seconds) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) <
           seconds);
}

static void WriteEverywhere(void) {
  for (int fd = 3; fd < 64; ++fd) {
    if (write(fd, "no reply\n", 9) < 0) continue;
  }
}

static void CloseEverything(void) {
  for (int fd = 3; fd < 64; ++fd) close(fd);
}

/* Code 50: the path could not be opened to be read. */
static int TryParent(const char* what) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), what);
  return open(path, O_RDONLY) < 0 ? 50 : 51;
}

static void Limit(pid_t process) {
  const struct rlimit low = {1 << 20, 1 << 20};
  (void)prlimit(process, RLIMIT_AS, &low, NULL);
}

/* Weights that calls have had, and whether they are few. */
static int FewWeights(const volatile float* weight) {
  enum { kMany = 8 };
  static const volatile float* seen[kMany];
  static int count;
  int i = 0;
  while (i < count && seen[i] != weight) ++i;
  if (i == count && count < kMany) seen[count++] = weight;
  return count < kMany;
}

KERNEL(good, (void)0)
KERNEL(few_weights, if (FewWeights(weight) && calls > 64) return 60)
KERNEL(slower, Spin(300e-6))
KERNEL(much_slower, Spin(20e-3))
KERNEL(crash, *(volatile int*)(intptr_t)64 = 1)
KERNEL(jump_to_null, ((void (*)(void))(intptr_t)zero)())
KERNEL(hang, while (1) Spin(1))
KERNEL(sleep_for_ever, while (1) pause())
KERNEL(memory, UseUpMemory())
KERNEL(write_past_end, out[kElements + 16] = 1)
KERNEL(write_before_start, out[-1] = 1)
KERNEL(write_far_before, out[-2000] = 1)
KERNEL(read_past_end, sink = data[kRows * kDepth + 16])
KERNEL(read_before_weight, sink = weight[-8000])
KERNEL(write_input, data[5] = 0)
KERNEL(wrong_lane, out[37] += 0.5F)
KERNEL(wrong_tail, out[kElements - 1] = 0)
KERNEL(wrong_extremes, for (int i = 0; i < 64; ++i) if (data[i] > 6e4F) out[i] = 6e4F)
KERNEL(wrong_zero_point, int all = 1; for (int i = 0; i < 64; ++i) all &= data[i] == 0;
       if (all) out[7] = 1)
KERNEL(not_a_number, out[11] = 0.0F / (float)zero)
KERNEL(late_write, StartLateWriter(out))
KERNEL(return_code, return 7)
KERNEL(stack_overflow, char top[1] = {0}; zero = Recurse(top))
KERNEL(division, zero = 100 / zero)
KERNEL(illegal_instruction, __builtin_trap())
KERNEL(abort_call, abort())
KERNEL(exit_call, exit(0))
/* Past the C library: a sanitizer's own fork() waits for locks. */
KERNEL(fork_call, if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) pause())
KERNEL(socket_call, (void)socket(AF_INET, SOCK_STREAM, 0))
/* Harmless where they are let through. */
KERNEL(kill_call, (void)kill(getppid(), 0))
KERNEL(cut_off_call, (void)open("/dev/null", O_WRONLY | O_TRUNC))
KERNEL(x32_call, (void)syscall(0x40000000 | SYS_getpid))
/* What would reach the runner, or outlive the candidate. */
KERNEL(own_signals, (void)fcntl(0, F_SETOWN, getppid()))
KERNEL(signal_choice, (void)fcntl(0, F_SETSIG, SIGKILL))
KERNEL(async_descriptor, (void)fcntl(0, F_SETFL, O_ASYNC))
KERNEL(socket_pair, int ends[2]; (void)socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
KERNEL(send_message, (void)sendto(2, "x", 1, 0, NULL, 0))
KERNEL(limit_parent, Limit(getppid()))
KERNEL(limit_self, Limit(0))
KERNEL(write_parent, char path[64]; snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
       (void)open(path, O_RDWR))
KERNEL(read_parent, return TryParent("mem"))
KERNEL(parent_descriptors, return TryParent("fd/10"))
KERNEL(parent_environment, return TryParent("environ"))
KERNEL(read_parent_memory, (void)syscall(SYS_process_vm_readv, getppid(), 0, 0, 0, 0, 0))
KERNEL(open_process, (void)syscall(434 /* pidfd_open */, getppid(), 0))
KERNEL(take_descriptor, (void)syscall(438 /* pidfd_getfd */, 0, 0, 0))
KERNEL(allocate_file, (void)fallocate(2, 0, 0, 1 << 20))
KERNEL(make_file, (void)open("/tmp/tilewright-hostile", O_WRONLY | O_CREAT, 0600))
KERNEL(nameless_file, (void)open("/tmp", O_RDWR | O_TMPFILE, 0600))
KERNEL(memory_file, (void)syscall(SYS_memfd_create, "x", 0))
KERNEL(shared_memory, (void)syscall(SYS_shmget, 1, 4096, 01600))
KERNEL(move_parent, cpu_set_t set; CPU_ZERO(&set); CPU_SET(0, &set);
       (void)sched_setaffinity(getppid(), sizeof set, &set))
KERNEL(slow_parent, (void)setpriority(PRIO_PROCESS, (id_t)getppid(), 19))
KERNEL(outlive_parent, (void)prctl(PR_SET_PDEATHSIG, 0))
KERNEL(leave_group, (void)setsid())
KERNEL(new_namespace, (void)syscall(SYS_unshare, 0x10000000))
KERNEL(other_kernel_interface, (void)syscall(SYS_io_uring_setup, 4, 0))
KERNEL(loads_code, (void)syscall(321 /* bpf */, 0, 0, 0))
KERNEL(kill_self, raise(SIGKILL))
KERNEL(terminate_self, raise(SIGTERM))
KERNEL(garbage, WriteEverywhere())
KERNEL(closed_pipes, CloseEverything())
KERNEL(wrong_later, if (calls > 5) out[0] += 1)
KERNEL(crash_later, if (calls > 5) * (volatile int*)(intptr_t)64 = 1)
KERNEL(code_later, if (calls > 5) return 9)
KERNEL_WITH(other_version, TW_ABI_VERSION + 1, 3, 0, (void)0)
KERNEL_WITH(other_count, TW_ABI_VERSION, 4, 0, (void)0)
KERNEL_WITH(huge_workspace, TW_ABI_VERSION, 3, (int64_t)1 << 45, (void)0)
KERNEL_WITH(large_workspace, TW_ABI_VERSION, 3, (int64_t)1 << 29, (void)0)
KERNEL_WITH(past_workspace, TW_ABI_VERSION, 3, 128, ((volatile char*)workspace)[128] = 1)

EXPORT const TwKernelInfo not_written_info = {TW_ABI_VERSION, 3, 0, 0};
EXPORT int32_t not_written(void* const* arguments, void* workspace, const TwParallel* parallel) {
  (void)arguments, (void)workspace, (void)parallel;
  return 0;
}

EXPORT const TwKernelInfo no_entry_info = {TW_ABI_VERSION, 3, 0, 0};
