#include "measure/sandbox/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "measure/sandbox/read_allowlist.h"
#include "src/base/files/file.h"
#include "src/target/library.h"
#include "tests/measure/system_calls.h"

namespace tilewright::measure {
namespace {

constexpr std::uint32_t kPid = 4711;

/// Returns the action that the kernel takes for the program, for the instructions that it uses; 0
/// for an invalid program.
std::uint32_t Evaluate(const std::vector<sock_filter>& program, const seccomp_data& data) {
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& step = program[at];
    bool holds = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (step.k % 4 != 0 || step.k + 4 > sizeof(data)) return 0;
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k, 4);
        continue;
      case BPF_RET | BPF_K:
        return step.k;
      case BPF_JMP | BPF_JEQ | BPF_K:
        holds = accumulator == step.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        holds = accumulator >= step.k;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        holds = (accumulator & step.k) != 0;
        break;
      default:
        return 0;
    }
    at += holds ? step.jt : step.jf;
  }
  return 0;
}

struct Call {
  const char* name;
  int x86_64, aarch64;  // -1: it has none
  std::array<std::uint64_t, 6> arguments;
  bool allowed;
};

const Call kCalls[] = {
    {"read", 0, 63, {}, true},
    {"write", 1, 64, {2}, true},
    {"futex", 202, 98, {}, true},
    {"exit_group", 231, 94, {}, true},
    {"rt_sigreturn", 15, 139, {}, true},
    {"open to read", 2, -1, {0, O_RDONLY | O_CLOEXEC}, true},
    {"open to write", 2, -1, {0, O_WRONLY}, false},
    {"openat to read", 257, 56, {0, 0, O_RDONLY | O_CLOEXEC}, true},
    {"openat of a folder", 257, 56, {0, 0, O_RDONLY | O_DIRECTORY}, true},
    {"openat to write", 257, 56, {0, 0, O_RDWR}, false},
    {"openat of a new file", 257, 56, {0, 0, O_CREAT}, false},
    {"openat of a nameless file", 257, 56, {0, 0, O_TMPFILE}, false},
    {"openat2", 437, 437, {}, false},
    {"clone of a thread", 56, 220, {CLONE_VM | CLONE_THREAD | CLONE_SIGHAND}, true},
    {"clone of a process", 56, 220, {SIGCHLD}, false},
    {"fork", 57, -1, {}, false},
    {"vfork", 58, -1, {}, false},
    {"execve", 59, 221, {}, false},
    {"kill", 62, 129, {kPid}, false},
    {"tgkill of itself", 234, 131, {kPid, kPid, 6}, true},
    {"tgkill of itself as if memory had run out", 234, 131, {kPid, kPid, 9}, false},
    {"tgkill of another", 234, 131, {kPid + 1, kPid + 1, 6}, false},
    {"tkill", 200, 130, {kPid}, false},
    {"fcntl F_DUPFD_CLOEXEC", 72, 25, {0, F_DUPFD_CLOEXEC}, true},
    {"fcntl F_SETOWN", 72, 25, {0, 8}, false},
    {"fcntl F_SETOWN_EX", 72, 25, {0, 15}, false},
    {"fcntl F_SETFL", 72, 25, {0, F_SETFL}, false},
    {"ioctl TCGETS", 16, 29, {0, 0x5401}, true},
    {"ioctl FIOSETOWN", 16, 29, {0, 0x8901}, false},
    {"prctl PR_SET_NAME", 157, 167, {PR_SET_NAME}, true},
    {"prctl PR_SET_PDEATHSIG", 157, 167, {PR_SET_PDEATHSIG}, false},
    {"prctl PR_SET_DUMPABLE", 157, 167, {PR_SET_DUMPABLE, 1}, false},
    {"prlimit to read", 302, 261, {0, 7, 0, 1}, true},
    {"prlimit to set", 302, 261, {0, 7, 1, 0}, false},
    {"prlimit to set, far up", 302, 261, {0, 7, std::uint64_t{1} << 32, 0}, false},
    {"prlimit of another", 302, 261, {kPid + 1, 7, 0, 1}, false},
    {"sched_setaffinity of itself", 203, 122, {0}, true},
    {"sched_setaffinity of another", 203, 122, {kPid + 1}, false},
    {"setpriority", 141, 140, {}, false},
    {"socket", 41, 198, {}, false},
    {"socketpair", 53, 199, {}, false},
    {"sendto", 44, 206, {}, false},
    {"ptrace", 101, 117, {}, false},
    {"process_vm_readv", 310, 270, {}, false},
    {"process_vm_writev", 311, 271, {}, false},
    {"pidfd_open", 434, 434, {}, false},
    {"pidfd_getfd", 438, 438, {}, false},
    {"pidfd_send_signal", 424, 424, {}, false},
    {"io_uring_setup", 425, 425, {}, false},
    {"unlinkat", 263, 35, {}, false},
    {"renameat2", 316, 276, {}, false},
    {"ftruncate", 77, 46, {}, false},
    {"fallocate", 285, 47, {}, false},
    {"memfd_create", 319, 279, {}, false},
    {"mount", 165, 40, {}, false},
    {"bpf", 321, 280, {}, false},
    {"seccomp", 317, 277, {}, false},
    {"unshare", 272, 97, {}, false},
    {"a call that does not exist yet", 999, 999, {}, false},
};

TEST(Sandbox, LetsThroughWhatItsListSaysOnBothProcessors) {
  for (const SandboxArch arch : {SandboxArch::kX86_64, SandboxArch::kAarch64}) {
    const bool x86 = arch == SandboxArch::kX86_64;
    const auto program = SandboxFilter(arch, kPid);
    ASSERT_LT(program.size(), 4096U);
    for (const Call& call : kCalls) {
      const int number = x86 ? call.x86_64 : call.aarch64;
      if (number < 0) continue;
      seccomp_data data{number, x86 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, 0, {}};
      std::copy(call.arguments.begin(), call.arguments.end(), data.args);
      const auto seen = Evaluate(program, data);
      EXPECT_EQ(seen, call.allowed ? SECCOMP_RET_ALLOW : SECCOMP_RET_TRAP)
          << call.name << (x86 ? " on x86-64" : " on 64-bit Arm");
      data.arch =
          x86 ? AUDIT_ARCH_I386 : AUDIT_ARCH_ARM;  // the same numbers have other meanings there
      EXPECT_EQ(Evaluate(program, data), SECCOMP_RET_TRAP) << call.name;
      data.arch = x86 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64;
      data.nr = static_cast<int>(0x40000000U | static_cast<unsigned>(number));  // x32
      EXPECT_EQ(Evaluate(program, data), SECCOMP_RET_TRAP) << call.name;
    }
    const seccomp_data clone3{435, x86 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64, 0, {}};
    EXPECT_EQ(Evaluate(program, clone3), SECCOMP_RET_ERRNO | ENOSYS);
  }
}

/// A wrong number would permit another system call.
TEST(Sandbox, NumbersAreThoseOfTheSystemsHeaders) {
  const auto x86 = X86SystemCalls(), generic = GenericSystemCalls();
  const auto known = [](const std::map<std::string_view, int>& calls, const char* name) {
    const auto found = calls.find(name);
    return found == calls.end() ? -1 : found->second;
  };
  const std::vector<SandboxSyscall> calls = SandboxSyscalls();
  EXPECT_GT(calls.size(), 80U);
  for (const SandboxSyscall& call : calls) {
    EXPECT_EQ(call.x86_64, known(x86, call.name)) << call.name;
    EXPECT_EQ(call.aarch64, known(generic, call.name)) << call.name;
  }
}

TEST(Sandbox, KeepsTheVariablesThatChooseOpenClsDevices) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    constexpr const char* kChoose[] = {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OPENCL_LAYERS",
                                       "POCL_DEVICES", "RUSTICL_ENABLE"};
    for (const char* name : kChoose) ::setenv(name, "of the test", 1);
    ::setenv("SANDBOX_TEST_SECRET", "of the test", 1);
    HideEnvironment();
    const bool kept = std::ranges::all_of(kChoose, [](const char* name) {
      const char* value = std::getenv(name);
      return value != nullptr && value == std::string("of the test");
    });
    ::_exit(kept && std::getenv("SANDBOX_TEST_SECRET") == nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST(Sandbox, SaysWhatASystemLacks) {
  const SandboxGaps here = TestSandbox();
  if (!here.system_calls.empty()) GTEST_SKIP() << here.system_calls;
  // On a system without filters, a filter of the test simulates one.
  const pid_t pid = ::fork();
  if (pid == 0) {
    sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
                             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter{std::size(program), program};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const bool filtered = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
    const bool said = TestSandbox().system_calls == "seccomp: Function not implemented";
    ::_exit(filtered && said ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

/// If a user may not create a namespace (the system forbids it, or the process has threads, as
/// under a sanitizer), the missing part is reported and the process stays in its namespace.
TEST(Sandbox, AnOrdinaryUserHasANamespaceOfItsOwnOrIsTold) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // otherwise root owns /proc/self
    const pid_t trial = ::fork();
    if (trial == 0) ::_exit(::unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
    int may = 0;
    if (::waitpid(trial, &may, 0) != trial || !WIFEXITED(may)) ::_exit(3);
    char before[64] = {}, after[64] = {};
    if (::readlink("/proc/self/ns/user", before, sizeof before - 1) <= 0) ::_exit(4);
    const SandboxGaps missing = DropPrivileges({});
    if (::readlink("/proc/self/ns/user", after, sizeof after - 1) <= 0) ::_exit(5);
    const bool own = std::strcmp(before, after) != 0;
    if (own != missing.user.empty()) ::_exit(6);
    ::_exit(own == (WEXITSTATUS(may) == 0) ? 0 : 7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

/// Every path through the program ends with an action.
TEST(Sandbox, EveryNumberHasAnAnswer) {
  for (const SandboxArch arch : {SandboxArch::kX86_64, SandboxArch::kAarch64}) {
    const auto program = SandboxFilter(arch, kPid);
    for (int number = -1; number < 600; ++number) {
      for (std::uint64_t argument : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        seccomp_data data{number, AUDIT_ARCH_X86_64, 0, {}};
        if (arch == SandboxArch::kAarch64) data.arch = AUDIT_ARCH_AARCH64;
        std::fill_n(data.args, 6, argument);
        EXPECT_NE(Evaluate(program, data), 0U) << number;
      }
    }
  }
}

/// Returns the number of files that code which names all kernel libraries may read.
std::size_t FilesFor(ReadAllowlistBuilder& lists, const std::string& artifact) {
  return lists.Of(artifact, *Target::Parse("llvm")).files.size();
}

// A temporary lack of descriptors does not take the library from later candidates.
TEST(ReadAllowlistBuilder, AskAgainAfterAFailure) {
  const auto folder = ScopedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  const std::string with = folder->path() + "/with", without = folder->path() + "/without";
  std::string names;
  for (const KernelLibrary& library : KernelLibraries()) {
    // Not FileOf, which loads the library: loaded files are readable for all artifacts.
    names += std::string(library.file) + "\n" + std::string(library.later_file) + "\n";
  }
  ASSERT_TRUE(WriteFile(with, names).ok() && WriteFile(without, "none").ok());
  ReadAllowlistBuilder fresh;
  const std::size_t few = FilesFor(fresh, without), all = FilesFor(fresh, with);
  if (all == few) GTEST_SKIP() << "no library of kernels can be loaded here";
  ReadAllowlistBuilder lists;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(next, 0);
  ::close(next);
  // One more descriptor is free, for the artifact; a pipe needs two.
  const rlimit tight{static_cast<rlim_t>(next) + 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  const std::size_t failed = FilesFor(lists, with);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(failed, few);
  EXPECT_EQ(FilesFor(lists, with), all);
}

}  // namespace
}  // namespace tilewright::measure
