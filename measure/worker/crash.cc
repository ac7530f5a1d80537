#include "measure/worker/crash.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "src/base/process/subprocess.h"

namespace tilewright::measure {
namespace {

/// Report of the signal handler, which has no arguments of its own. Set once, in a process that
/// runs one candidate and ends.
struct HandlerState {
  CrashReport* report = nullptr;
  const std::vector<ParameterMemory>* known = nullptr;
  std::int64_t address_space_limit = 0;
  int statm = -1;  ///< opened before the sandbox
};
HandlerState handler_state;

constexpr std::size_t kHandlerStackBytes = 64 * 1024;

void NoteAddress(CrashReport& report, const siginfo_t& info, const void* context) {
  report.address = reinterpret_cast<std::uint64_t>(info.si_addr);
#if defined(__x86_64__)
  const auto* machine = static_cast<const ucontext_t*>(context);
  report.writing = (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0;
  const auto stack = static_cast<std::uint64_t>(machine->uc_mcontext.gregs[REG_RSP]);
  const std::uint64_t distance =
      stack > report.address ? stack - report.address : report.address - stack;
  report.near_stack = distance < 64 * 1024;
#else
  (void)context;
#endif
  for (const ParameterMemory& known : *handler_state.known) {
    std::int64_t offset = 0;
    if (!known.memory->Covers(info.si_addr, &offset)) continue;
    report.parameter = known.parameter;
    report.offset = offset;
    report.bytes = known.memory->bytes();
    return;
  }
}

/// Address space by an open /proc/self/statm; 0 if it cannot be read. Safe in a signal handler.
std::int64_t StatmBytes(int statm) {
  char text[64] = {};
  const ssize_t count = ::pread(statm, text, sizeof(text) - 1, 0);
  std::int64_t pages = 0;
  for (ssize_t i = 0; i < count && text[i] >= '0' && text[i] <= '9'; ++i) {
    pages = pages * 10 + (text[i] - '0');
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  CrashReport& report = *handler_state.report;
  if (report.signal.exchange(signal) != 0) ::_exit(kCrashExitCode);  // a second thread, or a loop
  if (signal == SIGSEGV || signal == SIGBUS) NoteAddress(report, *info, context);
  if (signal == SIGSYS) report.system_call = info->si_syscall;
  if (handler_state.address_space_limit > 0) {
    constexpr std::int64_t kNearlySpent = std::int64_t{64} << 20;
    report.out_of_address_space =
        StatmBytes(handler_state.statm) + kNearlySpent > handler_state.address_space_limit;
  }
  ::_exit(kCrashExitCode);
}

std::string ParameterText(int parameter) {
  return parameter == kWorkspaceParameter ? "the workspace"
                                          : "parameter " + std::to_string(parameter);
}

std::string BoundsText(const char* verb, std::int64_t distance, int parameter) {
  const std::uint64_t magnitude = distance < 0 ? 0 - static_cast<std::uint64_t>(distance)
                                               : static_cast<std::uint64_t>(distance);
  return std::string(verb) + " out of bounds of " + ParameterText(parameter) + ": " +
         std::to_string(magnitude) +
         (distance < 0 ? " bytes before its start" : " bytes past its end");
}

std::string AddressText(const CrashReport& report) {
  const char* verb = report.writing ? "wrote" : "read";
  if (report.parameter < 0) {
    if (report.near_stack) return "the stack overflowed";
    char text[64];
    std::snprintf(text, sizeof(text), "%s at address 0x%llx", verb,
                  static_cast<unsigned long long>(report.address.load()));
    return text;
  }
  const std::int64_t offset = report.offset, bytes = report.bytes;
  if (offset >= 0 && offset < bytes) {
    return std::string(verb) + " to " + ParameterText(report.parameter) + ", which is an input";
  }
  return BoundsText(verb, offset < 0 ? offset : offset - bytes, report.parameter);
}

}  // namespace

std::int64_t AddressSpaceBytes() {
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const std::int64_t bytes = StatmBytes(fd);
  ::close(fd);
  return bytes;
}

void InstallCrashHandler(CrashReport* report, const std::vector<ParameterMemory>* known,
                         std::int64_t address_space_limit) {
  handler_state = {report, known, address_space_limit,
                   ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)};
  // Mapped, not static: the ordinary stack may be what overflowed, and the mapping's neighbours are
  // not written by a kernel that runs past its buffers.
  void* stack = ::mmap(nullptr, kHandlerStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack != MAP_FAILED) {
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = kHandlerStackBytes;
    ::sigaltstack(&alternative, nullptr);
  }
  struct sigaction action {};
  action.sa_sigaction = &OnSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP}) {
    ::sigaction(signal, &action, nullptr);
  }
}

std::string DescribeDamage(std::int64_t distance, int parameter) {
  return BoundsText("wrote", distance, parameter);
}

std::string CrashReason(const CrashReport& report, const ExitStatus& ended) {
  const int signal = report.signal;
  if (signal == 0 && ended.signaled) return "crashed: " + SignalName(ended.code);
  if (signal == 0) return "ended without a result: " + ended.ToString();
  if (report.out_of_address_space) return "out of memory: " + SignalName(signal);
  if (signal == SIGSYS) {
    return "made a forbidden system call: number " + std::to_string(report.system_call);
  }
  std::string reason = "crashed: " + SignalName(signal);
  if (signal == SIGSEGV || signal == SIGBUS) reason += ": " + AddressText(report);
  return reason;
}

}  // namespace tilewright::measure
