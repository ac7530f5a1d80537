// A header of system calls defines many names, so only this file includes it.
#include "tests/measure/system_calls.h"

// The part that 64-bit Arm uses.
#define __ARCH_WANT_NEW_STAT
#define __ARCH_WANT_SET_GET_RLIMIT
#define __ARCH_WANT_SYS_CLONE3
#include <asm-generic/unistd.h>

namespace tilewright::measure {

#define TW_CALL(name) \
  { #name, __NR_##name }

std::map<std::string_view, int> GenericSystemCalls() {
  return {TW_CALL(brk),
          TW_CALL(clock_getres),
          TW_CALL(clock_gettime),
          TW_CALL(clock_nanosleep),
          TW_CALL(clone),
          TW_CALL(clone3),
          TW_CALL(close),
          TW_CALL(dup),
          TW_CALL(exit),
          TW_CALL(exit_group),
          TW_CALL(faccessat),
          TW_CALL(faccessat2),
          TW_CALL(fcntl),
          TW_CALL(fstat),
          TW_CALL(fstatfs),
          TW_CALL(futex),
          TW_CALL(get_mempolicy),
          TW_CALL(getcpu),
          TW_CALL(getcwd),
          TW_CALL(getdents64),
          TW_CALL(getegid),
          TW_CALL(geteuid),
          TW_CALL(getgid),
          TW_CALL(getpid),
          TW_CALL(getppid),
          TW_CALL(getpriority),
          TW_CALL(getrandom),
          TW_CALL(getrlimit),
          TW_CALL(getrusage),
          TW_CALL(gettid),
          TW_CALL(gettimeofday),
          TW_CALL(getuid),
          TW_CALL(ioctl),
          TW_CALL(lseek),
          TW_CALL(madvise),
          TW_CALL(mbind),
          TW_CALL(membarrier),
          TW_CALL(mincore),
          TW_CALL(mmap),
          TW_CALL(mprotect),
          TW_CALL(mremap),
          TW_CALL(munmap),
          TW_CALL(nanosleep),
          TW_CALL(newfstatat),
          TW_CALL(openat),
          TW_CALL(pipe2),
          TW_CALL(ppoll),
          TW_CALL(prctl),
          TW_CALL(pread64),
          TW_CALL(prlimit64),
          TW_CALL(read),
          TW_CALL(readlinkat),
          TW_CALL(readv),
          TW_CALL(restart_syscall),
          TW_CALL(rseq),
          TW_CALL(rt_sigaction),
          TW_CALL(rt_sigprocmask),
          TW_CALL(rt_sigreturn),
          TW_CALL(sched_getaffinity),
          TW_CALL(sched_getparam),
          TW_CALL(sched_getscheduler),
          TW_CALL(sched_setaffinity),
          TW_CALL(sched_yield),
          TW_CALL(set_mempolicy),
          TW_CALL(set_robust_list),
          TW_CALL(set_tid_address),
          TW_CALL(sigaltstack),
          TW_CALL(statfs),
          TW_CALL(statx),
          TW_CALL(sysinfo),
          TW_CALL(tgkill),
          TW_CALL(times),
          TW_CALL(uname),
          TW_CALL(write),
          TW_CALL(writev)};
}

}  // namespace tilewright::measure
