// Commands of users: pipes, limits and results. The keeper holds the other ends.

#include "measure/program/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "measure/program/keeper.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/printable.h"
#include "src/base/process/child_process.h"
#include "src/base/strings.h"
#include "src/base/text/plural.h"

namespace tilewright::measure {
namespace {

constexpr std::size_t kErrorTail = 4096;
constexpr double kDiskPollSeconds = 0.1;
constexpr int kReadBytes = 1 << 16;
constexpr std::string_view kMark = "TILEWRIGHT_RUN=";

/// Returns the free bytes of the folder's disk; a large number if they are unknown.
std::int64_t FreeBytes(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.empty() ? "." : folder.c_str(), &disk) != 0) return std::int64_t{1} << 60;
  return static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
}

/// Kills the processes that have the mark of a command in their environment. Only needed if its
/// keeper was killed.
void KillMarked(const std::string& mark) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const auto pid = ParseInt64(entry.path().filename().string());
    if (!pid.ok()) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    for (std::string variable; std::getline(file, variable, '\0');) {
      if (variable == mark) ::kill(static_cast<pid_t>(*pid), SIGKILL);
    }
  }
}

/// Writes without a SIGPIPE if the pipe has no reader.
ssize_t WriteQuietly(int fd, std::string_view text) {
  sigset_t pipe, before;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t count = ::write(fd, text.data(), text.size());
  const int reason = errno;
  if (count < 0 && reason == EPIPE && !::sigismember(&before, SIGPIPE)) {
    const timespec now{};
    while (::sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = reason;
  return count;
}

/// Returns whether a program could not be executed for lack of processes, memory or descriptors.
bool IsShortage(int error) {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

std::string LastLine(std::string_view text) {
  text = Trim(text);
  const std::string_view line = text.substr(text.rfind('\n') + 1);
  constexpr std::size_t kMaxShown = 300;
  return Printable(std::string(line.substr(0, kMaxShown)));
}

}  // namespace

std::string FindProgram(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* path = std::getenv("PATH");
  for (const std::string& folder : Split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + program;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

std::string CommandResult::Reason() const {
  std::string reason;
  switch (end) {
    case CommandEnd::kExited:
      if (!status.ok()) {
        reason = status.ToString();
        if (status.signaled && status.code == SIGXFSZ) {
          reason = "wrote a larger file than allowed: " + reason;
        }
      } else if (leftovers > 0) {
        reason = fmt::format("left {} running, ended now", Counted(leftovers, "process"));
      }
      break;
    case CommandEnd::kTimeout:
      reason = fmt::format("no end within {:.3g} s", seconds);
      break;
    case CommandEnd::kOutput:
      reason = "wrote more to standard output than allowed";
      break;
    case CommandEnd::kDisk:
      reason = "wrote more to the disk than allowed";
      break;
    case CommandEnd::kStopped:
      reason = "stopped";
      break;
    case CommandEnd::kNotStarted:
    case CommandEnd::kNoResource:
    case CommandEnd::kLost:
      return problem;
  }
  const std::string last = LastLine(error);
  return last.empty() || reason.empty() ? reason : reason + ": " + last;
}

struct Command::Impl {
  CommandSpec spec;
  std::string mark, not_found;
  pid_t keeper = -1;
  Descriptor input, output, error, report, leash;
  SystemClock clock;
  double start_seconds = 0;
  std::int64_t free_bytes = 0;
  std::string pending;  // read and not returned yet
  std::string error_tail;
  KeeperReport ended;
  bool has_report = false;

  ~Impl() { EndAll(); }

  bool open() const { return static_cast<bool>(report); }

  void ReadError() {
    char buffer[kReadBytes];
    const ssize_t count = ::read(error.get(), buffer, sizeof(buffer));
    if (count == 0) error.Close();
    if (count <= 0) return;
    error_tail.append(buffer, static_cast<std::size_t>(count));
    if (error_tail.size() > kErrorTail) error_tail.erase(0, error_tail.size() - kErrorTail);
  }
  void ReadOutput() {
    char buffer[kReadBytes];
    const ssize_t count = ::read(output.get(), buffer, sizeof(buffer));
    if (count == 0) output.Close();
    if (count > 0) pending.append(buffer, static_cast<std::size_t>(count));
  }
  void ReadReport() {
    const ssize_t count = ::read(report.get(), &ended, sizeof(ended));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    has_report = count == sizeof(ended);
    report.Close();
  }
  /// Sends as much input as fits.
  void SendInput(std::string_view& left) {
    const ssize_t count = WriteQuietly(input.get(), left);
    if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
    const bool closed = count < 0 && errno != EAGAIN && errno != EINTR;
    if (left.empty() || closed) input.Close();
  }
  bool TooMuchOutput() const {
    return spec.limits.output_bytes > 0 &&
           static_cast<std::int64_t>(pending.size()) > spec.limits.output_bytes;
  }
  bool StopRequested() const { return spec.stop != nullptr && spec.stop->load(); }
  bool DiskFilled() const {
    if (spec.limits.disk_bytes <= 0) return false;
    const std::string& folder = spec.scratch.empty() ? spec.folder : spec.scratch;
    return free_bytes - FreeBytes(folder) > spec.limits.disk_bytes;
  }
  /// Waits for events of the pipes, at most `seconds`, and handles them.
  void Pump(double seconds, std::string_view& to_send) {
    pollfd fds[4];
    int count = 0;
    const auto watch = [&](const Descriptor& fd, short events) {
      fds[count] = {fd ? fd.get() : -1, events, 0};
      return count++;
    };
    const int out = watch(output, POLLIN), err = watch(error, POLLIN);
    const int end = watch(report, POLLIN);
    const int in = watch(input, to_send.empty() ? short{0} : short{POLLOUT});
    const auto milliseconds = static_cast<int>(std::clamp(seconds * 1e3 + 1, 0.0, 1e6));
    if (::poll(fds, 4, milliseconds) <= 0) return;
    if (output && fds[out].revents != 0) ReadOutput();
    if (error && fds[err].revents != 0) ReadError();
    if (input && !to_send.empty() && fds[in].revents != 0) SendInput(to_send);
    if (report && fds[end].revents != 0) ReadReport();
  }
  /// Ends all processes of the command and waits for it.
  void EndAll() {
    leash.Close();
    input.Close();
    if (keeper <= 0) return;
    int status = 0;
    while (::waitpid(keeper, &status, 0) < 0 && errno == EINTR) {
    }
    const bool killed = WIFSIGNALED(status);
    keeper = -1;
    if (killed) KillMarked(mark);
  }
  CommandResult ResultOf(CommandEnd end);
  /// Reads what is left in the pipes of an ended command.
  void Drain() {
    constexpr double kDrainSeconds = 1;  // all writers are dead
    std::string_view nothing;
    const double until = clock.MonotonicSeconds() + kDrainSeconds;
    while ((output || error || report) && clock.MonotonicSeconds() < until && !TooMuchOutput()) {
      Pump(0.01, nothing);
    }
  }
};

CommandResult Command::Impl::ResultOf(CommandEnd end) {
  const double until_now = clock.MonotonicSeconds() - start_seconds;
  EndAll();
  Drain();
  CommandResult result;
  result.end = end;
  result.output = std::move(pending);
  result.error = std::move(error_tail);
  result.seconds = until_now;
  if (end == CommandEnd::kExited && !has_report) {
    result.end = CommandEnd::kLost;
    result.problem = "killed the process that watches it";
  }
  if (has_report && end == CommandEnd::kExited) {
    result.status = WIFSIGNALED(ended.status) ? ExitStatus{true, WTERMSIG(ended.status)}
                                              : ExitStatus{false, WEXITSTATUS(ended.status)};
    result.seconds = static_cast<double>(ended.wall_ns) * 1e-9;
    result.cpu_seconds = static_cast<double>(ended.cpu_us) * 1e-6;
    result.preemptions = ended.preemptions;
    result.leftovers = ended.leftovers;
    if (ended.exec_error != 0) {
      result.end = IsShortage(ended.exec_error) ? CommandEnd::kNoResource : CommandEnd::kNotStarted;
      result.problem = spec.words[0] + ": cannot be executed: " + std::strerror(ended.exec_error);
    }
  }
  return result;
}

Command::Command(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Command::Command(Command&&) noexcept = default;
Command& Command::operator=(Command&&) noexcept = default;
Command::~Command() = default;

Result<Command> Command::Start(const CommandSpec& spec) {
  TW_CHECK(!spec.words.empty());
  static std::atomic<std::uint64_t> number{0};
  auto impl = std::make_unique<Impl>();
  impl->spec = spec;
  impl->mark = fmt::format("{}{}.{}", kMark, ::getpid(), ++number);
  std::vector<std::string> words = spec.words;
  words[0] = FindProgram(spec.words[0]);
  if (words[0].empty()) return NotFound(spec.words[0] + ": no such program in PATH");
  std::vector<std::string> own = spec.environment;
  own.push_back(impl->mark);
  if (!spec.scratch.empty()) own.push_back("TMPDIR=" + spec.scratch);
  std::vector<char*> arguments = ArgumentPointers(words), variables = EnvironmentWith(own);
  TW_ASSIGN_OR_RETURN(Pipe input, OpenPipe());
  TW_ASSIGN_OR_RETURN(Pipe output, OpenPipe());
  TW_ASSIGN_OR_RETURN(Pipe error, OpenPipe());
  TW_ASSIGN_OR_RETURN(Pipe report, OpenPipe());
  TW_ASSIGN_OR_RETURN(Pipe leash, OpenPipe());
  KeeperPlan plan;
  plan.arguments = arguments.data();
  plan.environment = variables.data();
  plan.folder = spec.folder.empty() ? nullptr : spec.folder.c_str();
  plan.file_bytes = spec.limits.file_bytes;
  plan.priority = spec.priority;
  plan.has_cores = !spec.cores.empty();
  plan.cores = CoreSet(spec.cores);
  plan.input = input.read.get();
  plan.output = output.write.get();
  plan.error = error.write.get();
  plan.report = report.write.get();
  plan.leash = leash.read.get();
  impl->free_bytes = FreeBytes(spec.scratch.empty() ? spec.folder : spec.scratch);
  impl->start_seconds = impl->clock.MonotonicSeconds();
  impl->keeper = ::fork();
  if (impl->keeper < 0) return Unavailable("no process can be made: " + ErrnoReason());
  if (impl->keeper == 0) RunKeeper(plan);
  impl->input = std::move(input.write);
  impl->output = std::move(output.read);
  impl->error = std::move(error.read);
  impl->report = std::move(report.read);
  impl->leash = std::move(leash.write);
  for (const Descriptor* fd : {&impl->input, &impl->output, &impl->error, &impl->report}) {
    ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  return Command(std::move(impl));
}

CommandResult Command::Finish() {
  Impl& impl = *impl_;
  const CommandLimits& limits = impl.spec.limits;
  std::string_view to_send = impl.spec.input;
  if (to_send.empty()) impl.input.Close();
  double next_disk = impl.start_seconds + kDiskPollSeconds;
  while (impl.open()) {
    const double now = impl.clock.MonotonicSeconds();
    const double used = now - impl.start_seconds;
    if (limits.seconds > 0 && used >= limits.seconds) return impl.ResultOf(CommandEnd::kTimeout);
    if (impl.TooMuchOutput()) return impl.ResultOf(CommandEnd::kOutput);
    if (impl.StopRequested()) return impl.ResultOf(CommandEnd::kStopped);
    if (now >= next_disk) {
      if (impl.DiskFilled()) return impl.ResultOf(CommandEnd::kDisk);
      next_disk = now + kDiskPollSeconds;
    }
    const double left = limits.seconds > 0 ? limits.seconds - used : kDiskPollSeconds;
    impl.Pump(std::min(left, kDiskPollSeconds), to_send);
  }
  CommandResult result = impl.ResultOf(CommandEnd::kExited);
  const bool too_much = limits.output_bytes > 0 &&
                        static_cast<std::int64_t>(result.output.size()) > limits.output_bytes;
  if (too_much && result.end == CommandEnd::kExited) result.end = CommandEnd::kOutput;
  return result;
}

Status Command::Write(std::string_view text) {
  constexpr double kWriteSeconds = 5;
  const double until = impl_->clock.MonotonicSeconds() + kWriteSeconds;
  while (!text.empty()) {
    if (!impl_->input || !impl_->open()) return Unavailable("it has closed its standard input");
    if (impl_->clock.MonotonicSeconds() >= until) return Unavailable("it does not read its input");
    // Unlike Finish, the input stays open after the text.
    pollfd watched{impl_->input.get(), POLLOUT, 0};
    (void)::poll(&watched, 1, 20);
    const ssize_t count = WriteQuietly(impl_->input.get(), text);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EAGAIN && errno != EINTR) impl_->input.Close();
    std::string_view nothing;
    impl_->Pump(0, nothing);
  }
  return {};
}

Command::Line Command::ReadLine(double seconds) {
  Impl& impl = *impl_;
  Line line;
  const double start = impl.clock.MonotonicSeconds();
  std::string_view nothing;
  double next_disk = start + kDiskPollSeconds;
  while (true) {
    line.seconds = impl.clock.MonotonicSeconds() - start;
    const std::size_t end = impl.pending.find('\n');
    if (end != std::string::npos) {
      line.text = impl.pending.substr(0, end);
      impl.pending.erase(0, end + 1);
      line.complete = true;
      return line;
    }
    line.too_long = impl.TooMuchOutput();
    line.ended = !impl.output || !impl.open();
    line.timeout = line.seconds >= seconds || impl.StopRequested();
    if (start + line.seconds >= next_disk) {
      line.disk_full = impl.DiskFilled();
      next_disk += kDiskPollSeconds;
    }
    if (line.too_long || line.ended || line.timeout || line.disk_full) return line;
    impl.Pump(std::min(kDiskPollSeconds, seconds - line.seconds), nothing);
  }
}

bool Command::Ended() {
  std::string_view nothing;
  impl_->Pump(0, nothing);
  return !impl_->output || !impl_->open();
}

bool Command::HasMoreOutput() {
  std::string_view nothing;
  if (impl_->pending.empty() && impl_->output) impl_->Pump(0, nothing);
  return !impl_->pending.empty();
}

CommandResult Command::Stop(double seconds) {
  Impl& impl = *impl_;
  impl.input.Close();
  std::string_view nothing;
  const double until = impl.clock.MonotonicSeconds() + seconds;
  while (impl.open() && impl.clock.MonotonicSeconds() < until) {
    impl.Pump(0.05, nothing);
    if (impl.TooMuchOutput()) break;
  }
  return impl.ResultOf(impl.open() ? CommandEnd::kStopped : CommandEnd::kExited);
}

}  // namespace tilewright::measure
