#include "src/compiler/check/check_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <new>
#include <span>
#include <thread>
#include <utility>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/process/subprocess.h"
#include "src/base/thread.h"

namespace tilewright {
namespace {

using Check = std::function<Result<Json>(CheckProgress&)>;

constexpr int kLookMilliseconds = 50;
constexpr double kMaxLookSeconds = 1;  // a longer time between two polls is a pause of this process
constexpr double kClockFactor = 3;     // allowance for a machine with other work
// Lower bound of a kernel's speed: plain loops on one core do fifty times as much.
constexpr double kMinMacsPerSecond = 2e7, kMinBytesPerSecond = 2e6;

double LimitFor(const CheckedOperator& op, double seconds) {
  return std::max({seconds, static_cast<double>(op.macs) / kMinMacsPerSecond,
                   static_cast<double>(op.bytes) / kMinBytesPerSecond});
}

/// Memory shared by this process and processes forked from it, at the same address in all.
class SharedProgress {
 public:
  SharedProgress() {
    void* memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    auto* room = reinterpret_cast<CheckedOperator*>(static_cast<std::byte*>(memory) + kBegin);
    progress_ = ::new (memory) CheckProgress(std::span(room, kMaxOperators));
  }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  ~SharedProgress() {
    if (progress_ != nullptr) ::munmap(progress_, kBytes);
  }
  CheckProgress* get() const { return progress_; }

 private:
  static constexpr std::size_t kMaxOperators = 8192, kBegin = 4096;
  static constexpr std::size_t kBytes = kBegin + kMaxOperators * sizeof(CheckedOperator);
  static_assert(sizeof(CheckProgress) <= kBegin);
  CheckProgress* progress_ = nullptr;
};

void WriteWhole(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

/// Returns the check's answer as text: its status's code and message, and its JSON.
std::string AnswerText(const Check& check, CheckProgress& progress) {
  const Result<Json> answer = check(progress);
  Json text = {{"code", static_cast<int>(answer.status().code())},
               {"message", answer.status().message()}};
  if (answer.ok()) text["answer"] = *answer;
  return DumpJson(text);
}

[[noreturn]] void RunChild(const Check& check, CheckProgress& progress, int result, pid_t parent) {
  ::setpgid(0, 0);  // signals of the terminal go to the parent, which ends this process, too
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  for (int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS}) {
    ::signal(fault, SIG_DFL);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGTTOU, SIG_IGN);  // it may print from the background of a terminal
  // Runs in a new thread, because OpenMP (of libraries that kernels call) keeps state of the
  // forking thread with threads that do not exist here.
  auto thread = StartThread([&] {
    WriteWhole(result, AnswerText(check, progress));
    ::_exit(0);
  });
  if (thread.ok()) thread->join();
  ::_exit(1);
}

/// Watcher of one check.
class Watch {
 public:
  Watch(pid_t pid, int result, const CheckProgress& progress, double seconds, double idle_seconds)
      : pid_(pid),
        result_(result),
        progress_(progress),
        seconds_(seconds),
        idle_seconds_(idle_seconds) {}

  /// Returns the output until the end, or until it hung.
  std::string ReadAll() {
    std::string text;
    std::array<char, 4096> part;
    while (true) {
      pollfd watched{result_, POLLIN, 0};
      const int ready = ::poll(&watched, 1, kLookMilliseconds);
      if (ready <= 0) {
        if (IsOverdue()) return text;
        continue;
      }
      const ssize_t count = ::read(result_, part.data(), part.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;
      text.append(part.data(), static_cast<std::size_t>(count));
    }
  }
  /// Returns the operator that does not end.
  std::optional<std::size_t> hung() const { return hung_; }
  /// Returns true if it did nothing before its first operator: it waits forever.
  bool stuck() const { return stuck_; }

 private:
  bool IsOverdue() {
    const double now = clock_.MonotonicSeconds(), used = ProcessCpuSeconds(pid_);
    const auto op = progress_.current();
    const CheckedOperator* known = op ? progress_.Operator(*op) : nullptr;
    const double looked = std::min(now - std::exchange(looked_at_, now), kMaxLookSeconds);
    // After an operator it may wait for the reader of its output. 0: its clock cannot be read.
    const bool waits = used > 0 && used == std::exchange(used_last_, used);
    const bool idle = waits && progress_.changes() == 0;
    idle_ = idle ? idle_ + looked : 0;
    if (idle_ > idle_seconds_) return stuck_ = true;
    if (known == nullptr || progress_.changes() != changes_) {
      changes_ = progress_.changes();
      since_ = now;
      used_before_ = used;
      return false;
    }
    const double limit = LimitFor(*known, seconds_), passed = now - since_;
    const bool spent = passed > limit && used - used_before_ > limit;
    if (spent || passed > kClockFactor * limit) hung_ = op;
    return hung_.has_value();
  }

  pid_t pid_;
  int result_;
  const CheckProgress& progress_;
  double seconds_, idle_seconds_;
  SystemClock clock_;
  std::uint64_t changes_ = 0;
  double since_ = clock_.MonotonicSeconds(), used_before_ = 0;
  std::optional<std::size_t> hung_;
  double looked_at_ = since_, used_last_ = 0;
  double idle_ = 0;  // seconds without processor time before the first operator
  bool stuck_ = false;
};

ExitStatus Reap(pid_t pid, bool kill) {
  if (kill) {
    ::kill(-pid, SIGKILL);
    ::kill(pid, SIGKILL);  // its process group may not exist yet
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? ExitStatus{true, WTERMSIG(status)}
                             : ExitStatus{false, WEXITSTATUS(status)};
}

/// Returns nothing if the answer is incomplete.
std::optional<CheckProcessResult> AnswerOf(const std::string& text) {
  const auto json = ParseJson(text);
  if (!json.ok()) return std::nullopt;
  const auto code = static_cast<StatusCode>(json->at("code").get<int>());
  if (code == StatusCode::kOk)
    return CheckProcessResult{Status(), DumpJson(json->at("answer")), {}};
  return CheckProcessResult{Status(code, json->at("message").get<std::string>()), {}, {}};
}

CheckProcessResult Broken(const CheckProgress& progress, std::optional<std::size_t> op,
                          const std::string& how) {
  const CheckedOperator* known = op ? progress.Operator(*op) : nullptr;
  if (known == nullptr) return {Internal("the library " + how), {}, {}};
  const std::string kernel =
      known->kernel[0] == 0 ? "it" : fmt::format("its kernel {}", known->kernel);
  return {Internal(fmt::format("{} ({}): {} {}", known->value, known->op, kernel, how)), {}, op};
}

template <std::size_t N>
void CopyName(const std::string& name, char (&place)[N]) {
  name.copy(place, N - 1);
}

}  // namespace

void CheckProgress::SetOperators(const std::vector<OperatorReport>& operators) {
  const std::size_t count = std::min(operators.size(), operators_.size());
  for (std::size_t i = 0; i < count; ++i) {
    CheckedOperator& place = operators_[i] = CheckedOperator();
    CopyName(operators[i].value, place.value);
    CopyName(operators[i].op, place.op);
    CopyName(operators[i].kernel, place.kernel);
    place.macs = operators[i].macs;
    place.bytes = operators[i].bytes;
  }
  count_ = static_cast<std::int64_t>(count);
}

CheckProcessResult RunCheckProcess(const Check& check, const std::vector<OperatorReport>& operators,
                                   double seconds, double idle_seconds) {
  const SharedProgress progress;
  const auto no_process = [] {
    return CheckProcessResult{
        Unavailable("no process can be made to run the library: " + ErrnoReason()), {}, {}};
  };
  int ends[2];
  if (progress.get() == nullptr || ::pipe2(ends, O_CLOEXEC) != 0) return no_process();
  progress.get()->SetOperators(operators);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    const CheckProcessResult answer = no_process();
    for (int end : ends) ::close(end);
    return answer;
  }
  if (pid == 0) RunChild(check, *progress.get(), ends[1], parent);
  ::close(ends[1]);
  Watch watch(pid, ends[0], *progress.get(), seconds, idle_seconds);
  const std::string text = watch.ReadAll();
  ::close(ends[0]);
  const std::optional<std::size_t> hung = watch.hung();
  const ExitStatus ended = Reap(pid, hung.has_value() || watch.stuck());
  if (hung) {
    const double limit = LimitFor(*progress.get()->Operator(*hung), seconds);
    return Broken(*progress.get(), hung, fmt::format("did not end in {:.3g} s", limit));
  }
  if (watch.stuck()) {
    return Broken(*progress.get(), std::nullopt,
                  fmt::format("did nothing for {:.3g} s before its first operator", idle_seconds));
  }
  if (ended.ok()) {
    if (auto answer = AnswerOf(text)) return *std::move(answer);
  }
  return Broken(*progress.get(), progress.get()->current(),
                "ended the process that runs it: " + ended.ToString());
}

}  // namespace tilewright
