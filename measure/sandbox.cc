#include <fcntl.h>
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

/// System calls that are refused outright: what starts processes or connections, removes, renames
/// or cuts off files, or reaches other processes. io_uring would do all that unseen.
constexpr std::array kForbidden = {SYS_fork,
                                   SYS_vfork,
                                   SYS_execve,
                                   SYS_execveat,
                                   SYS_ptrace,
                                   SYS_socket,
                                   SYS_connect,
                                   SYS_io_uring_setup,
                                   SYS_unlink,
                                   SYS_unlinkat,
                                   SYS_rmdir,
                                   SYS_rename,
                                   SYS_renameat,
                                   SYS_renameat2,
                                   SYS_truncate,
                                   SYS_ftruncate,
                                   SYS_creat,
                                   SYS_openat2,
                                   SYS_setsid,
                                   SYS_kill,
                                   SYS_tkill,
                                   SYS_rt_sigqueueinfo,
                                   SYS_rt_tgsigqueueinfo,
                                   SYS_pidfd_send_signal,
                                   SYS_process_vm_writev};

/// A system call that one of its arguments decides about.
struct Condition {
  std::uint32_t number;
  std::uint32_t argument;  // which
  std::uint16_t test;      // BPF_JSET: any of these bits; BPF_JEQ: this value
  std::uint32_t value;
  bool allowed;  // where the test holds; else where it does not
};

class FilterProgram {
 public:
  void Add(sock_filter instruction) { program_[size_++] = instruction; }
  void AddForbidden(std::uint32_t number) {
    Add(JumpIfEqual(number, 0, 1));
    Add(kTrap);
  }
  /// Ends the program for this system call.
  void AddCondition(const Condition& condition) {
    const std::uint8_t skipped = condition.allowed ? 1 : 0;
    Add(JumpIfEqual(condition.number, 0, 4));
    Add(Statement(
        BPF_LD | BPF_W | BPF_ABS,
        static_cast<std::uint32_t>(offsetof(seccomp_data, args)) + 8 * condition.argument));
    Add({static_cast<std::uint16_t>(BPF_JMP | condition.test | BPF_K), skipped,
         static_cast<std::uint8_t>(1 - skipped), condition.value});
    Add(kTrap);
    Add(kAllow);
  }
  sock_fprog Whole() { return {static_cast<unsigned short>(size_), program_.data()}; }

 private:
  std::array<sock_filter, 128> program_{};
  std::size_t size_ = 0;
};

}  // namespace

void ForbidProcesses() {
  FilterProgram program;
  program.Add(Statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  program.Add(JumpIfEqual(AUDIT_ARCH_X86_64, 1, 0));
  program.Add(kTrap);
  program.Add(Statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  constexpr std::uint32_t kX32 = 0x40000000;  // the same calls by other numbers
  program.Add({BPF_JMP | BPF_JGE | BPF_K, 0, 1, kX32});
  program.Add(kTrap);
  for (const auto number : kForbidden) program.AddForbidden(static_cast<std::uint32_t>(number));
  // clone3 hides its flags in memory; "not implemented" makes the C library fall back to clone.
  program.Add(JumpIfEqual(SYS_clone3, 0, 1));
  program.Add(Statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  const auto own = static_cast<std::uint32_t>(::getpid());
  for (const Condition& condition : {
           Condition{SYS_clone, 0, BPF_JSET, CLONE_THREAD, true},
           Condition{SYS_open, 1, BPF_JSET, O_TRUNC, false},
           Condition{SYS_openat, 2, BPF_JSET, O_TRUNC, false},
           Condition{SYS_tgkill, 0, BPF_JEQ, own, true},  // abort() is one
       }) {
    program.AddCondition(condition);
  }
  program.Add(kAllow);
  const sock_fprog filter = program.Whole();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  // SPEC_ALLOW: without it some kernels also turn off store bypassing for the process, and the
  // candidate would be timed on a slower core than it will run on.
  (void)::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter);
}
#else
void ForbidProcesses() {}
#endif

}  // namespace tilewright::measure
