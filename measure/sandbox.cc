#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "measure/child.h"

#if defined(__x86_64__)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#endif

namespace tilewright::measure {

#if defined(__x86_64__)
namespace {

constexpr sock_filter Statement(std::uint16_t code, std::uint32_t value) {
  return {code, 0, 0, value};
}
constexpr sock_filter JumpIfEqual(std::uint32_t value, std::uint8_t then, std::uint8_t otherwise) {
  return {BPF_JMP | BPF_JEQ | BPF_K, then, otherwise, value};
}
constexpr sock_filter kTrap = Statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
constexpr sock_filter kAllow = Statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

/// System calls that are refused outright.
constexpr std::array<std::uint32_t, 14> kForbidden = {
    SYS_fork,   SYS_vfork,  SYS_execve, SYS_execveat, SYS_ptrace,   SYS_socket,   SYS_connect,
    SYS_unlink, SYS_rename, SYS_rmdir,  SYS_unlinkat, SYS_renameat, SYS_truncate, SYS_setsid};

}  // namespace

void ForbidProcesses() {
  constexpr std::size_t kFixed = 14;
  std::array<sock_filter, kFixed + 2 * kForbidden.size()> program{};
  std::size_t n = 0;
  program[n++] = Statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  program[n++] = JumpIfEqual(AUDIT_ARCH_X86_64, 1, 0);
  program[n++] = kTrap;
  program[n++] = Statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (std::uint32_t number : kForbidden) {
    program[n++] = JumpIfEqual(number, 0, 1);
    program[n++] = kTrap;
  }
  // clone3 hides its flags in memory; "not implemented" makes the C library fall back to clone.
  program[n++] = JumpIfEqual(SYS_clone3, 0, 1);
  program[n++] = Statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
  // clone: threads only.
  program[n++] = JumpIfEqual(SYS_clone, 0, 4);
  program[n++] = Statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args));
  program[n++] = {BPF_JMP | BPF_JSET | BPF_K, 1, 0, CLONE_THREAD};
  program[n++] = kTrap;
  program[n++] = kAllow;
  program[n++] = kAllow;
  const sock_fprog filter{static_cast<unsigned short>(n), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  // SPEC_ALLOW: without it some kernels also turn off store bypassing for the process, and the
  // candidate would be timed on a slower core than it will run on.
  (void)::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter);
}
#else
void ForbidProcesses() {}
#endif

}  // namespace tilewright::measure
