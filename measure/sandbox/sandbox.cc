// Sandbox of a candidate: a filter with a list of system calls for each architecture, Landlock for
// files, signals and traces if the kernel has it, and no capabilities. All of it is irrevocable.

#include "measure/sandbox/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/sanitizer.h"
#include "src/base/strings.h"

namespace tilewright::measure {
namespace {

/// System calls that kernels, the thread pool, the C library, the dynamic loader and libraries of
/// kernels need. None of them reaches another process, a file that is not open, or the network.
constexpr SandboxSyscall kAllowed[] = {
    {"read", 0, 63},
    {"write", 1, 64},
    {"readv", 19, 65},
    {"writev", 20, 66},
    {"pread64", 17, 67},
    {"lseek", 8, 62},
    {"close", 3, 57},
    {"fstat", 5, 80},
    {"newfstatat", 262, 79},
    {"stat", 4, -1},
    {"lstat", 6, -1},
    {"statx", 332, 291},
    {"access", 21, -1},
    {"faccessat", 269, 48},
    {"faccessat2", 439, 439},
    {"readlink", 89, -1},
    {"readlinkat", 267, 78},
    {"getdents64", 217, 61},
    {"getcwd", 79, 17},
    {"statfs", 137, 43},
    {"fstatfs", 138, 44},
    {"poll", 7, -1},
    {"ppoll", 271, 73},
    {"dup", 32, 23},
    {"mmap", 9, 222},
    {"munmap", 11, 215},
    {"mprotect", 10, 226},
    {"mremap", 25, 216},
    {"madvise", 28, 233},
    {"brk", 12, 214},
    {"mincore", 27, 232},
    {"membarrier", 324, 283},
    {"getpid", 39, 172},
    {"getppid", 110, 173},
    {"gettid", 186, 178},
    {"getuid", 102, 174},
    {"geteuid", 107, 175},
    {"getgid", 104, 176},
    {"getegid", 108, 177},
    {"uname", 63, 160},
    {"sysinfo", 99, 179},
    {"getrusage", 98, 165},
    {"getrlimit", 97, 163},
    {"times", 100, 153},
    {"getcpu", 309, 168},
    {"getrandom", 318, 278},
    {"time", 201, -1},
    {"gettimeofday", 96, 169},
    {"clock_gettime", 228, 113},
    {"clock_getres", 229, 114},
    {"clock_nanosleep", 230, 115},
    {"nanosleep", 35, 101},
    {"sched_yield", 24, 124},
    {"sched_getaffinity", 204, 123},
    {"sched_getparam", 143, 121},
    {"sched_getscheduler", 145, 120},
    {"getpriority", 140, 141},
    {"get_mempolicy", 239, 236},
    {"futex", 202, 98},
    {"set_robust_list", 273, 99},
    {"set_tid_address", 218, 96},
    {"rseq", 334, 293},
    {"rt_sigaction", 13, 134},
    {"rt_sigprocmask", 14, 135},
    {"rt_sigreturn", 15, 139},
    {"sigaltstack", 131, 132},
    {"restart_syscall", 219, 128},
    {"pause", 34, -1},
    {"exit", 60, 93},
    {"exit_group", 231, 94},
    {"arch_prctl", 158, -1},
};

constexpr SandboxSyscall kOpen = {"open", 2, -1}, kOpenat = {"openat", 257, 56};
constexpr SandboxSyscall kClone = {"clone", 56, 220}, kTgkill = {"tgkill", 234, 131};
constexpr SandboxSyscall kPrctl = {"prctl", 157, 167}, kIoctl = {"ioctl", 16, 29};
constexpr SandboxSyscall kFcntl = {"fcntl", 72, 25}, kPrlimit = {"prlimit64", 302, 261};
constexpr SandboxSyscall kSetAffinity = {"sched_setaffinity", 203, 122};
constexpr SandboxSyscall kPipe2 = {"pipe2", 293, 59};
/// "Not implemented" makes the caller do without: clone3 hides its flags in memory (the C library
/// falls back to clone), the others are wishes of libraries.
constexpr SandboxSyscall kMissing[] = {
    {"clone3", 435, 435}, {"mbind", 237, 235}, {"set_mempolicy", 238, 237}};

#if defined(__x86_64__)
constexpr bool kNumbersAreOurs = SYS_openat == kOpenat.x86_64 && SYS_clone == kClone.x86_64 &&
                                 SYS_prctl == kPrctl.x86_64 && SYS_tgkill == kTgkill.x86_64 &&
                                 SYS_ioctl == kIoctl.x86_64 && SYS_fcntl == kFcntl.x86_64;
static_assert(kNumbersAreOurs);
#elif defined(__aarch64__)
constexpr bool kNumbersAreOurs = SYS_openat == kOpenat.aarch64 && SYS_clone == kClone.aarch64 &&
                                 SYS_prctl == kPrctl.aarch64 && SYS_tgkill == kTgkill.aarch64 &&
                                 SYS_ioctl == kIoctl.aarch64 && SYS_fcntl == kFcntl.aarch64;
static_assert(kNumbersAreOurs);
#endif

constexpr sock_filter Statement(std::uint16_t code, std::uint32_t value) {
  return {code, 0, 0, value};
}
constexpr sock_filter kTrap = Statement(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
constexpr sock_filter kAllow = Statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

/// Lower half of an argument, on little-endian machines.
constexpr std::uint32_t ArgumentAt(std::uint32_t argument) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args)) + 8 * argument;
}

class FilterProgram {
 public:
  explicit FilterProgram(SandboxArch arch) : arch_(arch) {}

  void Add(sock_filter instruction) { program_.push_back(instruction); }
  void Load(std::uint32_t offset) { Add(Statement(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void JumpIfEqual(std::uint32_t value, std::uint8_t then, std::uint8_t otherwise) {
    Add({BPF_JMP | BPF_JEQ | BPF_K, then, otherwise, value});
  }
  /// For this system call the program ends with the instruction.
  void Answer(const SandboxSyscall& call, sock_filter answer) {
    const int number = NumberOf(call);
    if (number < 0) return;
    JumpIfEqual(static_cast<std::uint32_t>(number), 0, 1);
    Add(answer);
  }
  /// Allowed if none of the bits (else, wanted: if one of them) is set in the argument.
  void AllowBits(const SandboxSyscall& call, std::uint32_t argument, std::uint32_t bits,
                 bool wanted) {
    const int number = NumberOf(call);
    if (number < 0) return;
    JumpIfEqual(static_cast<std::uint32_t>(number), 0, 4);
    Load(ArgumentAt(argument));
    Add({BPF_JMP | BPF_JSET | BPF_K, static_cast<std::uint8_t>(wanted ? 1 : 0),
         static_cast<std::uint8_t>(wanted ? 0 : 1), bits});
    Add(kTrap);
    Add(kAllow);
  }
  /// Allowed if the argument is one of the values.
  void AllowValues(const SandboxSyscall& call, std::uint32_t argument,
                   std::initializer_list<std::uint32_t> values) {
    const int number = NumberOf(call);
    if (number < 0) return;
    const auto count = static_cast<std::uint8_t>(values.size());
    JumpIfEqual(static_cast<std::uint32_t>(number), 0, static_cast<std::uint8_t>(count + 3));
    Load(ArgumentAt(argument));
    std::uint8_t left = count;
    for (std::uint32_t value : values) JumpIfEqual(value, left--, 0);
    Add(kTrap);
    Add(kAllow);
  }
  /// Allows tgkill of the own process with SIGABRT, as abort() does. After SIGKILL a candidate
  /// would look as if the system had ended it for lack of memory.
  void AllowAbort(std::uint32_t pid) {
    JumpIfEqual(static_cast<std::uint32_t>(NumberOf(kTgkill)), 0, 6);
    Load(ArgumentAt(0));
    JumpIfEqual(pid, 0, 3);
    Load(ArgumentAt(2));
    JumpIfEqual(SIGABRT, 0, 1);
    Add(kAllow);
    Add(kTrap);
  }
  /// Allowed for the own process (0), and only to read a limit.
  void AllowReadingLimits() {
    JumpIfEqual(static_cast<std::uint32_t>(NumberOf(kPrlimit)), 0, 8);
    for (std::uint32_t offset : {ArgumentAt(0), ArgumentAt(2), ArgumentAt(2) + 4}) {
      Load(offset);
      const auto to_trap = static_cast<std::uint8_t>(offset == ArgumentAt(0)   ? 5
                                                     : offset == ArgumentAt(2) ? 3
                                                                               : 1);
      JumpIfEqual(0, 0, to_trap);
    }
    Add(kAllow);
    Add(kTrap);
  }
  std::vector<sock_filter> Take() { return std::move(program_); }

 private:
  int NumberOf(const SandboxSyscall& call) const {
    return arch_ == SandboxArch::kX86_64 ? call.x86_64 : call.aarch64;
  }

  SandboxArch arch_;
  std::vector<sock_filter> program_;
};

/// linux/landlock.h of the newest supported kernel; older ones implement a part of it.
struct LandlockRules {
  std::uint64_t files, network, scopes;
};
/// The same of a rule for a file, or for a folder with everything below.
struct __attribute__((packed)) LandlockPath {
  std::uint64_t rights;
  std::int32_t file;
};

constexpr std::uint64_t kReadFile = 1 << 2, kReadFolder = 1 << 3;

/// Returns false if the system rejects the rule. Missing files need no rule.
bool AllowReading(int ruleset, const std::string& path, std::uint64_t rights) {
  constexpr long kAddRule = 445, kPathBeneath = 1;
  const int file = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (file < 0) return true;
  const LandlockPath rule{rights, file};
  const bool added = ::syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) == 0;
  ::close(file);
  return added;
}

/// Only files of the list can be read and none be changed, nothing is executed or connected to;
/// signals and traces stay inside.
Status EnterLandlock(const ReadAllowlist& readable) {
  constexpr long kCreateRuleset = 444, kRestrictSelf = 446, kVersionFlag = 1;
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kVersionFlag);
  if (version < 1) return Unsupported(ErrnoReason());
  const int rights = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  LandlockRules rules{};
  rules.files = (std::uint64_t{1} << rights) - 1;
  rules.network = version >= 4 ? 3 : 0;  // to bind, to connect
  rules.scopes = version >= 6 ? 3 : 0;   // abstract sockets, signals
  const std::size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const long ruleset = ::syscall(kCreateRuleset, &rules, size, 0);
  if (ruleset < 0) return Unsupported(ErrnoReason());
  bool entered = true;
  for (const std::string& file : readable.files) {
    entered = entered && AllowReading(static_cast<int>(ruleset), file, kReadFile);
  }
  for (const std::string& folder : readable.folders) {
    entered = entered && AllowReading(static_cast<int>(ruleset), folder, kReadFile | kReadFolder);
  }
  entered = entered && ::syscall(kRestrictSelf, ruleset, 0) == 0;
  const Status status = entered ? Status() : Unsupported(ErrnoReason());
  ::close(static_cast<int>(ruleset));
  return status;
}

/// Enters a namespace without rights over anything outside, and without System V queues or memory
/// of others. Root keeps its own: in another one it could not read other users' files, such as
/// artifacts in their folders.
Status EnterUserNamespace() {
  if (::geteuid() == 0) return Unsupported("root keeps its own");
  return ::unshare(CLONE_NEWUSER | CLONE_NEWIPC) == 0 ? Status() : Unsupported(ErrnoReason());
}

/// A root process without capabilities cannot trace the runner, which has them.
void DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return;
  // Artifacts may be in another user's folder.
  constexpr std::uint32_t kKept = 1U << CAP_DAC_READ_SEARCH;
  sets[0] = {sets[0].effective & kKept, sets[0].permitted & kKept, 0};
  sets[1] = {0, 0, 0};
  (void)::syscall(SYS_capset, &header, sets.data());
}

}  // namespace

std::vector<sock_filter> SandboxFilter(SandboxArch arch, std::uint32_t pid) {
  FilterProgram program(arch);
  program.Load(offsetof(seccomp_data, arch));
  program.JumpIfEqual(arch == SandboxArch::kX86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, 1, 0);
  program.Add(kTrap);
  program.Load(offsetof(seccomp_data, nr));
  if (arch == SandboxArch::kX86_64) {
    constexpr std::uint32_t kX32 = 0x40000000;  // the same calls by other numbers
    program.Add({BPF_JMP | BPF_JGE | BPF_K, 0, 1, kX32});
    program.Add(kTrap);
  }
  for (const SandboxSyscall& call : kAllowed) program.Answer(call, kAllow);
  for (const SandboxSyscall& call : kMissing) {
    program.Answer(call, Statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  }
  // A sanitizer's runtime asks pipes whether memory can be read.
  if constexpr (kHasShadowMemory) program.Answer(kPipe2, kAllow);
  // To read, a folder too. (O_TMPFILE has the bit of O_DIRECTORY, which is no reason to refuse.)
  constexpr std::uint32_t kChanges =
      O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
  program.AllowBits(kOpen, 1, kChanges, /*wanted=*/false);
  program.AllowBits(kOpenat, 2, kChanges, /*wanted=*/false);
  program.AllowBits(kClone, 0, CLONE_THREAD, /*wanted=*/true);
  program.AllowAbort(pid);
  program.AllowValues(kSetAffinity, 0, {0, pid});
  constexpr std::uint32_t kSetVma = 0x53564d41;  // names of mappings
  program.AllowValues(kPrctl, 0, {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, kSetVma});
  program.AllowValues(kIoctl, 1, {TCGETS});  // whether it is a terminal
  // Not the recipient of signals of a descriptor (F_SETOWN), nor their time (F_SETSIG, O_ASYNC).
  program.AllowValues(kFcntl, 1, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL});
  program.AllowReadingLimits();
  program.Add(kTrap);
  return program.Take();
}

void HideMemory() {
  // A leak check traces its own process.
  if (!kHasShadowMemory) (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void HideEnvironment() {
  // Names and beginnings of names.
  constexpr std::string_view kKept[] = {
      "PATH=", "HOME=",         "TMPDIR=",       "LANG=",         "TZ=",
      "LC_",   "LD_",           "XDG_",          "OMP_",          "GOMP_",
      "KMP_",  "DNNL_",         "ONEDNN_",       "CUDA_",         "NVIDIA_",
      "__GL_", "OCL_ICD_",      "POCL_",         "OPENCL_",       "RUSTICL_",
      "QEMU_", "ASAN_OPTIONS=", "LSAN_OPTIONS=", "TSAN_OPTIONS=", "UBSAN_OPTIONS="};
  char** last = environ;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (std::ranges::any_of(kKept, [&](auto kept) { return text.starts_with(kept); })) {
      *last++ = *variable;
    } else {
      ::explicit_bzero(*variable, text.size());
    }
  }
  if (last != nullptr) *last = nullptr;
}

void DetachFromTerminal() {
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  // A sanitizer reports there.
  if (nothing >= 0 && !kHasShadowMemory) (void)::dup2(nothing, STDERR_FILENO);
  if (nothing >= 0) ::close(nothing);
  // The file is root's while memory is hidden.
  const int hidden = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  (void)::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  constexpr std::string_view kFirst = "1000";
  if (score >= 0) (void)!::write(score, kFirst.data(), kFirst.size());
  if (score >= 0) ::close(score);
  if (hidden == 0) (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

std::string SandboxGaps::Unprotected() const {
  std::string text;
  if (!system_calls.empty())
    text = "system calls of candidates are not filtered (" + system_calls + ")";
  if (!files.empty()) {
    text += (text.empty() ? "" : "; ") +
            ("candidates can read all files of this user: no Landlock (" + files + ")");
  }
  return text;
}

SandboxGaps DropPrivileges(const ReadAllowlist& readable) {
  SandboxGaps missing;
  missing.user = EnterUserNamespace().message();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    missing.files = ErrnoReason();
    return missing;
  }
  DropCapabilities();
  missing.files = EnterLandlock(readable).message();
  return missing;
}

Status InstallSyscallFilter() {
#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
  constexpr SandboxArch kArch = SandboxArch::kX86_64;
#else
  constexpr SandboxArch kArch = SandboxArch::kAarch64;
#endif
  std::vector<sock_filter> program = SandboxFilter(kArch, static_cast<std::uint32_t>(::getpid()));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  // SPEC_ALLOW: without it some kernels also turn off store bypassing for the process, and the
  // candidate would be timed on a slower core than it will run on. TSYNC: threads of the pool, too.
  const long failed =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_TSYNC, &filter);
  if (failed == 0) return Status();
  return Unsupported("seccomp: " + (failed > 0 ? "a thread refuses it" : ErrnoReason()));
#else
  return Unsupported("there is no filter for this processor");
#endif
}

std::vector<SandboxSyscall> SandboxSyscalls() {
  std::vector<SandboxSyscall> calls(std::begin(kAllowed), std::end(kAllowed));
  calls.insert(calls.end(), std::begin(kMissing), std::end(kMissing));
  for (const SandboxSyscall& call :
       {kOpen, kOpenat, kClone, kTgkill, kPrctl, kIoctl, kFcntl, kPrlimit, kSetAffinity, kPipe2}) {
    calls.push_back(call);
  }
  return calls;
}

SandboxGaps TestSandbox() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {ErrnoReason(), ErrnoReason(), ErrnoReason()};
  const pid_t pid = ::fork();
  if (pid == 0) {
    const SandboxGaps missing = DropPrivileges({});
    const std::string text =
        InstallSyscallFilter().message() + "\n" + missing.files + "\n" + missing.user + "\n";
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::array<char, 1024> text{};
  const ssize_t count = pid < 0 ? 0 : ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  const std::vector<std::string> lines = Split(
      std::string_view(text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))), '\n');
  if (lines.size() < 3)
    return {"no process can try it", "no process can try it", "no process can try it"};
  return {lines[0], lines[1], lines[2]};
}

}  // namespace tilewright::measure
