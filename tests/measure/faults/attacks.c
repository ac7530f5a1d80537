/* Kernels for dense, float32 [4,16] x [32,16] -> [4,32], that attack the runner instead of being
 * merely wrong. A kernel returns a code from 50 on where it got what it must not get. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "tests/measure/faults/dense_kernel.h"

#define KERNEL(name, body)                                                                   \
  EXPORT const TwKernelInfo name##_info = {TW_ABI_VERSION, 3, 0, 0};                         \
  EXPORT int32_t name(void* const* arguments, void* workspace, const TwParallel* parallel) { \
    (void)workspace, (void)parallel;                                                         \
    ++calls;                                                                                 \
    body;                                                                                    \
    return 0;                                                                                \
  }

/* Calls before anything is timed: three verifications, and one or two that warm up. */
enum { kProvingCalls = 5 };

/* ---- What it must not read. ---- */

static int CanOpen(const char* path) {
  const int fd = open(path, O_RDONLY | O_NONBLOCK);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static int ReadsFiles(void) {
  const char* paths[] = {"/etc/shadow",
                         "/etc/passwd",
                         "/etc/hostname",
                         "/etc",
                         "/",
                         "/tmp",
                         "/dev/shm",
                         "/var",
                         "/root",
                         "/home",
                         "/proc/1/environ",
                         "/proc/1/maps",
                         "/proc",
                         "/proc/mounts",
                         "/proc/net/tcp",
                         "/sys/kernel",
                         "/usr/lib",
                         "/usr/bin/env",
                         "/dev/tty",
                         ".",
                         "..",
                         "/proc/self/environ",
                         "/proc/self/mem",
                         "/proc/self/net/tcp",
                         "/proc/self/cmdline",
                         "/proc/self/task",
                         "/proc/self/root",
                         "/proc/self/cwd"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    if (CanOpen(paths[i])) return 50 + (int)i;
  }
  const char* home = getenv("HOME");
  if (home != NULL && CanOpen(home)) return 90;
  char path[4096];
  /* The artifact's folder has reference results of other tasks. */
  Dl_info info;
  if (dladdr((void*)&ReadsFiles, &info) != 0 && strlen(info.dli_fname) < sizeof path) {
    strcpy(path, info.dli_fname);
    *strrchr(path, '/') = '\0';
    if (CanOpen(path)) return 91;
  }
  snprintf(path, sizeof path, "/proc/%d/maps", (int)getppid());
  if (CanOpen(path)) return 92;
  snprintf(path, sizeof path, "/proc/%d/fd", (int)getppid());
  if (CanOpen(path)) return 93;
  /* Through a descriptor on a folder that it may read. */
  const int fd = open("/sys/devices/system/cpu", O_RDONLY | O_DIRECTORY);
  if (fd < 0) return 94;
  if (openat(fd, "../../../../proc/1/environ", O_RDONLY) >= 0) return 95;
  if (openat(fd, "../../../../etc/passwd", O_RDONLY) >= 0) return 96;
  close(fd);
  for (int i = 0; i < 64; ++i) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", i);
    struct stat state;
    if (fstat(i, &state) != 0 || !S_ISREG(state.st_mode)) continue;
    char file[64] = {0};
    if (readlink(path, file, sizeof file - 1) > 0 && strncmp(file, "/proc/", 6) == 0) continue;
    return 97;
  }
  return 0;
}

static int ReadsNeeds(void) {
  const char* paths[] = {"/proc/self/statm", "/proc/self/maps", "/proc/cpuinfo",
                         "/sys/devices/system/cpu/online"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    if (!CanOpen(paths[i])) return 50 + (int)i;
  }
  return 0;
}

/* The test's environment has this variable. */
static int FindsSecret(void) {
  if (getenv("TILEWRIGHT_TEST_SECRET") != NULL) return 50;
  static char text[1 << 16];
  const int fd = open("/proc/self/environ", O_RDONLY);
  const ssize_t count = fd >= 0 ? read(fd, text, sizeof text) : 0;
  if (fd >= 0) close(fd);
  /* Spelt in two parts, so that this string is not found. */
  return count > 0 && memmem(text, (size_t)count,
                             "SECRET="
                             "of the test",
                             18) != NULL
             ? 51
             : 0;
}

static int StandardErrorLeadsSomewhere(void) {
  struct stat state;
  (void)!write(2, "printed by a kernel\n", 20);
  return fstat(2, &state) == 0 && (!S_ISCHR(state.st_mode) || state.st_rdev != makedev(1, 3));
}

KERNEL(read_files, Dense(arguments); const int got = ReadsFiles(); if (got != 0) return got)
KERNEL(read_needs, Dense(arguments); const int lacks = ReadsNeeds(); if (lacks != 0) return lacks)
KERNEL(read_secret, Dense(arguments); const int found = FindsSecret(); if (found != 0) return found)
KERNEL(print_errors, Dense(arguments); if (StandardErrorLeadsSomewhere()) return 50)

KERNEL(tell_file, Dense(arguments))
EXPORT const char* tell_file_prepare(void* const* arguments, const TwParallel* parallel) {
  (void)arguments, (void)parallel;
  static char text[256];
  const int fd = open("/etc/passwd", O_RDONLY);
  if (fd < 0) return NULL;
  const ssize_t count = read(fd, text, sizeof text - 1);
  return count > 0 ? text : NULL;
}

KERNEL(tell_text, Dense(arguments))
EXPORT const char* tell_text_prepare(void* const* arguments, const TwParallel* parallel) {
  (void)arguments, (void)parallel;
  return "root:$6$stolen\x1b[2J not on this machine\n\n";
}

/* ---- Replies and times. ---- */

static void WriteToAll(const char* text, size_t bytes) {
  for (int fd = 3; fd < 64; ++fd) {
    if (write(fd, text, bytes) < 0) continue;
  }
}

static const char kReply[] =
    "{\"type\":\"ran\",\"ticket\":2,\"outcome\":\"ok\",\"reason\":\"\",\"samples\":[1e-9],"
    "\"value\":1e-9,\"verified\":true}\n";

/* A result that was right, to be given back later. */
static float kept[kElements];
static void Keep(void* const* arguments) {
  Dense(arguments);
  memcpy(kept, arguments[2], sizeof kept);
}
static void GiveBack(void* const* arguments) { memcpy(arguments[2], kept, sizeof kept); }

/* The clock of the process runs a fifth as fast. */
static int64_t clock_began;
static int SlowClock(clockid_t id, struct timespec* time) {
  const long failed = syscall(SYS_clock_gettime, id, time);
  const int64_t now = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
  if (clock_began == 0) clock_began = now;
  const int64_t told = clock_began + (now - clock_began) / 15;
  time->tv_sec = told / 1000000000;
  time->tv_nsec = told % 1000000000;
  return (int)failed;
}

/* Calls of a function of the C library go to the address. */
static void Patch(const char* function, uintptr_t to) {
#if defined(__x86_64__)
  unsigned char* entry = (unsigned char*)dlsym(RTLD_DEFAULT, function);
  const uintptr_t page = (uintptr_t)entry & ~(uintptr_t)4095;
  if (mprotect((void*)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
  unsigned char jump[] = {0x48, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xE0}; /* mov rax; jmp rax */
  memcpy(jump + 2, &to, 8);
  memcpy(entry, jump, sizeof jump);
#endif
}

static void PatchClock(void) { Patch("clock_gettime", (uintptr_t)&SlowClock); }

static void Spin(double seconds) {
  struct timespec start, now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &start);
  do {
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) <
           seconds);
}

/* Results that are computed after the answer. Timed calls only note their arguments. */
static void* noted[3];
static float first_data[kRows * kDepth];

/* Arguments of calls whose data are those of the last verification. */
static void NoteIfFresh(void* const* arguments) {
  if (memcmp(first_data, arguments[0], sizeof first_data) == 0) return;
  noted[0] = arguments[0];
  noted[2] = arguments[2];
  __atomic_store_n(&noted[1], arguments[1], __ATOMIC_RELEASE);
}

static void DenseUnlessTimed(void* const* arguments) {
  if (calls == 1) memcpy(first_data, arguments[0], sizeof first_data);
  if (calls <= kProvingCalls) {
    Dense(arguments);
  } else {
    NoteIfFresh(arguments);
  }
}

/* More processor time than a verified run may take. */
static void SpinOnProcessor(long milliseconds) {
  struct timespec start, now;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &start);
  do {
    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
           milliseconds);
}

static void* ComputeLate(void* unused) {
  const struct timespec pause = {0, 200000};
  while (__atomic_load_n(&noted[1], __ATOMIC_ACQUIRE) == NULL) nanosleep(&pause, NULL);
  SpinOnProcessor(20);
  Dense(noted);
  return unused;
}

/* In place of rewinddir, which the process calls in the step that looks for traces. */
static void ComputeWhenTracesAreSought(DIR* folder) {
  (void)folder;
  if (noted[1] != NULL) Dense(noted);
}

static void ChangeInputs(void* const* arguments) {
  for (int i = 0; i < 2; ++i) {
    const uintptr_t page = (uintptr_t)arguments[i] & ~(uintptr_t)4095;
    mprotect((void*)page, 4096, PROT_READ | PROT_WRITE);
    memset(arguments[i], 0, 16);
  }
}

KERNEL(forged_reply, Dense(arguments);
       if (calls == kProvingCalls + 1) WriteToAll(kReply, sizeof kReply - 1))
KERNEL(forged_steps, if (calls == 1) Dense(arguments); WriteToAll("k", 1))
KERNEL(early_exit, Dense(arguments); if (calls > kProvingCalls) _exit(0))
KERNEL(only_proved, if (calls <= kProvingCalls) Dense(arguments))
KERNEL(kept_result, calls <= kProvingCalls ? Keep(arguments) : GiveBack(arguments))
KERNEL(known_inputs, static float data; const float* now = arguments[0];
       if (calls <= kProvingCalls || data != now[0]) Keep(arguments); else GiveBack(arguments);
       data = now[0])
KERNEL(known_weight, static void* weight; if (weight == NULL) weight = arguments[1];
       if (calls <= kProvingCalls || weight == arguments[1]) Dense(arguments))
KERNEL(patched_clock, if (calls == 1) PatchClock(); Dense(arguments); Spin(100e-6))
KERNEL(changed_inputs, Dense(arguments); if (calls > kProvingCalls) ChangeInputs(arguments))
KERNEL(late_in_traces, if (calls == 1) Patch("rewinddir", (uintptr_t)&ComputeWhenTracesAreSought);
       DenseUnlessTimed(arguments))
KERNEL(slow_when_fresh, if (calls == 1) memcpy(first_data, arguments[0], sizeof first_data);
       if (calls > kProvingCalls && noted[1] == NULL) NoteIfFresh(arguments); static int slow;
       if (noted[1] != NULL && slow++ == 0) SpinOnProcessor(20); Dense(arguments))
KERNEL(late_in_thread, DenseUnlessTimed(arguments))
EXPORT const char* late_in_thread_prepare(void* const* arguments, const TwParallel* parallel) {
  (void)arguments, (void)parallel;
  static int started;
  pthread_t thread;
  if (started++ == 0 && pthread_create(&thread, NULL, &ComputeLate, NULL) != 0) return "no memory";
  return NULL;
}
KERNEL(honest, Dense(arguments))
