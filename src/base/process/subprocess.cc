// Starts, feeds and ends child processes. Between fork and exec only async-signal-safe calls are
// made; the child reports the reason of a failed start through a pipe.

#include "src/base/process/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/process/child_process.h"
#include "src/base/shell/quote.h"

namespace tilewright {
namespace {

/// Settings of the child between fork and exec: only async-signal-safe calls are allowed there.
struct ChildPlan {
  const SubprocessOptions* options;
  char* const* arguments;
  char* const* environment;
  cpu_set_t cores;
  int input, output, error, report;  // report: receives errno if exec fails
  int parent;
};

[[noreturn]] void RunChild(const ChildPlan& plan) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // the parent ended before the line above
  ::dup2(plan.input, STDIN_FILENO);
  ::dup2(plan.output, STDOUT_FILENO);
  ::dup2(plan.error, STDERR_FILENO);
  // The child must not inherit descriptors that this program opened without O_CLOEXEC. (Has no
  // effect before Linux 5.11.)
  (void)::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (plan.options->address_space_bytes > 0) {
    const auto bytes = static_cast<rlim_t>(plan.options->address_space_bytes);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  if (!plan.options->cores.empty()) ::sched_setaffinity(0, sizeof(plan.cores), &plan.cores);
  if (plan.options->priority != 0) (void)SetSessionPriority(plan.options->priority);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execve(plan.arguments[0], plan.arguments, plan.environment);
  const int reason = errno;
  (void)!::write(plan.report, &reason, sizeof(reason));
  ::_exit(127);
}

/// Waits for exec: on success the pipe closes without data.
Status ReadReport(int fd, const std::string& program) {
  int reason = 0;
  ssize_t count = 0;
  do {
    count = ::read(fd, &reason, sizeof(reason));
  } while (count < 0 && errno == EINTR);
  if (count != sizeof(reason)) return {};
  return NotFound(program + ": cannot be executed: " + std::strerror(reason));
}

}  // namespace

std::string SignalName(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

std::string ExitStatus::ToString() const {
  if (!signaled) return "exit code " + std::to_string(code);
  return "signal " + std::to_string(code) + " (" + SignalName(code) + ")";
}

Result<Subprocess> Subprocess::Start(const SubprocessOptions& options) {
  TW_CHECK(!options.command.empty());
  Pipe input, output, error, report;
  for (Pipe* pipe : {&input, &output, &error, &report}) {
    TW_ASSIGN_OR_RETURN(*pipe, OpenPipe());
  }
  std::vector<std::string> words = options.command, own = options.environment;
  std::vector<char*> arguments = ArgumentPointers(words);
  std::vector<char*> environment = EnvironmentWith(own);
  const ChildPlan plan{
      &options,         arguments.data(),   environment.data(), CoreSet(options.cores),
      input.read.get(), output.write.get(), error.write.get(),  report.write.get(),
      ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) return Unavailable("no process can be made: " + ErrnoReason());
  if (pid == 0) RunChild(plan);
  report.write.Close();
  Subprocess child;
  child.pid_ = pid;
  child.input_ = std::move(input.write);
  child.output_ = std::move(output.read);
  child.error_ = std::move(error.read);
  ::fcntl(child.output(), F_SETFL, O_NONBLOCK);
  ::fcntl(child.error(), F_SETFL, O_NONBLOCK);
  TW_RETURN_IF_ERROR(ReadReport(report.read.get(), options.command[0]));
  return child;
}

Subprocess::Subprocess(Subprocess&& other) noexcept { Swap(other); }

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  Subprocess taken(std::move(other));
  Swap(taken);
  return *this;
}

void Subprocess::Swap(Subprocess& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(input_, other.input_);
  std::swap(output_, other.output_);
  std::swap(error_, other.error_);
  std::swap(ended_, other.ended_);
}

Subprocess::~Subprocess() {
  if (pid_ > 0) {
    KillGroup();
    while (!Wait(1.0)) {
    }
  }
}

void Subprocess::KillGroup() {
  if (pid_ <= 0) return;
  // After the child was reaped, its number may belong to another process.
  if (!ended_) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // it may not have reached setsid yet
  }
}

std::optional<ExitStatus> Subprocess::Wait(double seconds) {
  if (ended_ || pid_ <= 0) return ended_;
  // pidfd_open (Linux 5.3): a descriptor that becomes readable when the process ends, so that
  // waiting needs no polling.
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (fd >= 0) {
    pollfd watched{fd, POLLIN, 0};
    const double bounded = std::clamp(seconds, 0.0, 1e6);
    while (::poll(&watched, 1, static_cast<int>(bounded * 1e3)) < 0 && errno == EINTR) {
    }
    ::close(fd);
  }
  int status = 0;
  siginfo_t info{};
  // Polls without reaping: the group must be killed before the process number can be reused.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  ::kill(-pid_, SIGKILL);
  if (::waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  ended_ = WIFSIGNALED(status) ? ExitStatus{true, WTERMSIG(status)}
                               : ExitStatus{false, WEXITSTATUS(status)};
  return ended_;
}

double ProcessCpuSeconds(int pid) {
  clockid_t clock;
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Result<std::string> ExecutablePath() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) return Unavailable("the path of the program is unknown: " + ErrnoReason());
  return std::string(path.data(), static_cast<std::size_t>(length));
}

std::vector<std::string> OwnArguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string one; std::getline(file, one, '\0');) arguments.push_back(one);
  if (!arguments.empty()) arguments[0].erase(0, arguments[0].rfind('/') + 1);
  return arguments;
}

std::string ShellCommand(const std::vector<std::string>& arguments) {
  constexpr std::string_view kPlain = "%+,-./:=@_";  // and letters and digits
  std::string command;
  for (const std::string& argument : arguments) {
    const bool plain = !argument.empty() && std::ranges::all_of(argument, [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != kPlain.npos;
    });
    if (!command.empty()) command += ' ';
    command += plain ? argument : ShellQuoted(argument);
  }
  return command;
}

Status SetCpuAffinity(const std::vector<int>& cores) {
  const cpu_set_t set = CoreSet(cores);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
    return Unavailable("cannot set the CPU affinity: " + ErrnoReason());
  }
  return {};
}

std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

bool SetSessionPriority(int priority) {
  char text[8];
  int length = 0;
  const int magnitude = std::clamp(priority < 0 ? -priority : priority, 0, 20);
  if (priority < 0) text[length++] = '-';
  if (magnitude >= 10) text[length++] = static_cast<char>('0' + magnitude / 10);
  text[length++] = static_cast<char>('0' + magnitude % 10);
  // Between fork and exec too: no allocation here.
  const bool niced = ::setpriority(PRIO_PROCESS, 0, priority) == 0;
  const int fd = ::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return niced;
  const bool grouped = ::write(fd, text, static_cast<std::size_t>(length)) == length;
  ::close(fd);
  return niced && grouped;
}

}  // namespace tilewright
