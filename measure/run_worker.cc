#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <memory>
#include <new>
#include <utility>

#include "measure/calibration.h"
#include "measure/channel.h"
#include "measure/child.h"
#include "measure/messages.h"
#include "measure/worker_loop.h"
#include "measure/workers.h"
#include "src/base/clock.h"
#include "src/base/strings.h"

namespace tilewright::measure {
namespace {

/// A forked candidate, seen from the runner. The destructor ends it and its descendants.
class Child {
 public:
  Child(const RunOrder::Item& item, double limit_seconds)
      : item_(item), limit_seconds_(limit_seconds) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// Forks. `work` lacks item, report and descriptors, which are set here.
  Status Start(ChildWork work, bool commanded);
  /// Waits for the next line. nullopt: the child ended, hung or talked nonsense; reply() says what.
  std::optional<std::string> NextLine();
  void Command(char command) { (void)!::write(command_fd_, &command, 1); }
  /// The reply in `line`, or why it is none.
  RunReply ReplyFrom(const std::string& line);
  RunReply FailedReply() const { return failed_; }

 private:
  void Fail(Outcome outcome, std::string reason);
  /// Whether it has run one call, or done nothing else, for too long.
  bool IsHanging();
  /// Ends it and its descendants. by_itself: first lets it end alone for a moment, for how it does.
  ExitStatus Reap(bool by_itself);

  const RunOrder::Item& item_;
  double limit_seconds_;
  double last_progress_ = 0;
  pid_t pid_ = -1;
  int result_fd_ = -1, command_fd_ = -1;
  ChildReport* report_ = nullptr;
  LineReader reader_;
  RunReply failed_;
  SystemClock clock_;
};

/// Closes every descriptor of the runner in a child but the ones it needs.
void KeepDescriptors(int result_fd, int command_fd) {
  for (int fd = 3; fd < 64; ++fd) {
    if (fd != result_fd && fd != command_fd) ::close(fd);
  }
}

Status Child::Start(ChildWork work, bool commanded) {
  void* shared = ::mmap(nullptr, sizeof(ChildReport), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return Unavailable("out of memory: no page to share");
  report_ = ::new (shared) ChildReport;  // constructed in place, lives until munmap
  int result[2], command[2] = {-1, -1};
  if (::pipe2(result, O_CLOEXEC) != 0) return Unavailable("no pipe can be made");
  if (commanded && ::pipe2(command, O_CLOEXEC) != 0) return Unavailable("no pipe can be made");
  last_progress_ = clock_.MonotonicSeconds();
  const pid_t runner = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    work.item = &item_;
    work.report = report_;
    work.result_fd = result[1];
    work.command_fd = command[0];
    work.runner_pid = runner;
    KeepDescriptors(work.result_fd, work.command_fd);
    RunChild(work);
  }
  ::close(result[1]);
  if (commanded) ::close(command[0]);
  result_fd_ = result[0];
  command_fd_ = command[1];
  if (pid_ < 0) return Unavailable("no process can be made");
  return {};
}

Child::~Child() {
  if (pid_ > 0) (void)Reap(/*by_itself=*/false);
  if (result_fd_ >= 0) ::close(result_fd_);
  if (command_fd_ >= 0) ::close(command_fd_);
  if (report_ != nullptr) ::munmap(report_, sizeof(ChildReport));
}

ExitStatus Child::Reap(bool by_itself) {
  siginfo_t info{};
  // A moment to end by itself: its pipe closes just before it is gone.
  for (int i = 0; by_itself && i < 50; ++i) {
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid != 0) {
      break;
    }
    clock_.SleepSeconds(1e-3);
  }
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? ExitStatus{true, WTERMSIG(status)}
                             : ExitStatus{false, WEXITSTATUS(status)};
}

void Child::Fail(Outcome outcome, std::string reason) {
  failed_.ticket = item_.ticket;
  failed_.outcome = outcome;
  failed_.reason = std::move(reason);
}

bool Child::IsHanging() {
  const double now = clock_.MonotonicSeconds();
  const double call_started = report_->call_started;
  if (call_started > 0) return now - call_started > limit_seconds_;
  // Outside a call: loading, comparing. Bounded too, generously: the code there is ours but for the
  // artifact's constructors.
  return now - last_progress_ > 30 + 10 * limit_seconds_;
}

std::optional<std::string> Child::NextLine() {
  last_progress_ = clock_.MonotonicSeconds();
  while (true) {
    if (auto line = reader_.Next()) return line;
    pollfd watched{result_fd_, POLLIN, 0};
    const double wait = std::clamp(limit_seconds_ / 10, 0.02, 0.5);
    if (::poll(&watched, 1, static_cast<int>(wait * 1e3)) > 0) {
      auto state = reader_.Fill(result_fd_, /*blocking=*/true);
      if (state.ok() && *state == LineReader::State::kOpen) continue;
      if (!state.ok()) {
        Fail(Outcome::kRunFailed, "sent something that is no reply");
        return std::nullopt;
      }
      const ExitStatus ended = Reap(/*by_itself=*/true);
      Fail(Outcome::kRunFailed, CrashReason(*report_, ended));
      return std::nullopt;
    }
    if (!IsHanging()) continue;
    char text[96];
    std::snprintf(text, sizeof(text), "one call took more than %.3g s", limit_seconds_);
    Fail(Outcome::kRunTimeout, text + PhaseText(report_->phase));
    ::kill(pid_, SIGKILL);
    return std::nullopt;
  }
}

RunReply Child::ReplyFrom(const std::string& line) {
  auto json = ParseJson(line);
  if (json.ok()) {
    auto reply = RunReplyFrom(*json);
    if (reply.ok() && reply->ticket == item_.ticket) return *std::move(reply);
  }
  Fail(Outcome::kRunFailed, "sent something that is no reply" + PhaseText(report_->phase));
  return failed_;
}

class Runner {
 public:
  explicit Runner(const WorkerPipes& pipes) : pipes_(pipes) {}
  Status Handle(const Json& message);

 private:
  Status Configure(const Json& message);
  Status Run(const RunOrder& order);
  RunReply RunAlone(const RunOrder::Item& item);
  std::vector<RunReply> RunRace(const std::vector<RunOrder::Item>& items);
  ChildWork WorkFor(const RunOrder::Item& item, const Workbench::Setup& setup);
  void LearnFrom(const RunReply& reply);

  const WorkerPipes& pipes_;
  RunWorkerSettings settings_;
  Workbench workbench_{settings_.cache_bytes};
  Canary canary_;
  QuietGate gate_;
  SystemClock clock_;
};

Status Runner::Configure(const Json& message) {
  auto settings = RunWorkerSettingsFrom(message);
  TW_RETURN_IF_ERROR(settings);
  settings_ = *settings;
  workbench_ = Workbench(settings_.cache_bytes);
  Greeting greeting;
  greeting.resolution = MeasureResolution(canary_, gate_, settings_.sampling);
  greeting.canary_seconds = gate_.quiet_seconds();
  return SendMessage(pipes_, ToJson(greeting));
}

ChildWork Runner::WorkFor(const RunOrder::Item& item, const Workbench::Setup& setup) {
  ChildWork work;
  work.setup = &setup;
  work.sampling = settings_.sampling;
  work.sampling.patience_seconds = item.patience_seconds;
  work.gate = gate_;
  work.canary = &canary_;
  work.memory_bytes = settings_.memory_bytes;
  return work;
}

/// The canaries of a child tell the runner too what a quiet moment is.
void Runner::LearnFrom(const RunReply& reply) {
  for (double canary : reply.canaries) gate_.Add(clock_.MonotonicSeconds(), canary);
}

RunReply FailedWith(const RunOrder::Item& item, const Status& status) {
  RunReply reply;
  reply.ticket = item.ticket;
  reply.outcome = Outcome::kRunFailed;
  reply.reason = status.message();
  return reply;
}

RunReply Runner::RunAlone(const RunOrder::Item& item) {
  auto setup = workbench_.Prepare(item.kernel, item.reference);
  if (!setup.ok()) return FailedWith(item, setup.status());
  Child child(item, CallLimitSeconds(item.best_seconds));
  const Status started = child.Start(WorkFor(item, *setup), /*commanded=*/false);
  if (!started.ok()) return FailedWith(item, started);
  const auto line = child.NextLine();
  return line ? child.ReplyFrom(*line) : child.FailedReply();
}

/// Finalists one slice each, in turns, starting with another one each time: what disturbs the
/// machine meanwhile disturbs all of them alike.
std::vector<RunReply> Runner::RunRace(const std::vector<RunOrder::Item>& items) {
  constexpr int kRounds = 60;
  constexpr double kSecondsEach = 0.5;
  constexpr double kSettledNoise = 0.003;
  std::vector<RunReply> replies(items.size());
  std::vector<double> noise(items.size(), 1);
  std::deque<Workbench::Setup> setups;
  std::vector<std::unique_ptr<Child>> children(items.size());
  const auto lose = [&](std::size_t i) {
    replies[i] = children[i]->FailedReply();
    children[i] = nullptr;
  };
  const auto step = [&](std::size_t i) {
    const auto line = children[i]->NextLine();
    const auto value = line ? ParseDouble(*line) : Result<double>(NotFound("no line"));
    if (value.ok()) {
      noise[i] = *value;
      return;
    }
    replies[i] = line ? children[i]->ReplyFrom(*line) : children[i]->FailedReply();
    children[i] = nullptr;
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto setup = workbench_.Prepare(items[i].kernel, items[i].reference);
    if (!setup.ok()) {
      replies[i] = FailedWith(items[i], setup.status());
      continue;
    }
    setups.push_back(*std::move(setup));
    children[i] = std::make_unique<Child>(items[i], CallLimitSeconds(items[i].best_seconds));
    const Status started = children[i]->Start(WorkFor(items[i], setups.back()), /*commanded=*/true);
    if (!started.ok()) {
      replies[i] = FailedWith(items[i], started);
      children[i] = nullptr;
      continue;
    }
    step(i);
  }
  const double deadline =
      clock_.MonotonicSeconds() + kSecondsEach * static_cast<double>(items.size());
  const auto settled = [&] {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (children[i] != nullptr && noise[i] > kSettledNoise) return false;
    }
    return true;
  };
  for (int round = 0; round < kRounds && clock_.MonotonicSeconds() < deadline && !settled();
       ++round) {
    for (std::size_t k = 0; k < items.size(); ++k) {
      const std::size_t i = (k + static_cast<std::size_t>(round)) % items.size();
      if (children[i] == nullptr) continue;
      children[i]->Command('s');
      step(i);
    }
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (children[i] == nullptr) continue;
    children[i]->Command('f');
    const auto line = children[i]->NextLine();
    if (!line) {
      lose(i);
      continue;
    }
    replies[i] = children[i]->ReplyFrom(*line);
    children[i] = nullptr;
  }
  return replies;
}

Status Runner::Handle(const Json& message) {
  if (MessageType(message) == "configure") return Configure(message);
  if (MessageType(message) != "run") {
    return Corrupt("message: unknown type '" + MessageType(message) + "'");
  }
  auto order = RunOrderFrom(message);
  TW_RETURN_IF_ERROR(order);
  return Run(*order);
}

Status Runner::Run(const RunOrder& order) {
  const double start = clock_.MonotonicSeconds();
  std::vector<RunReply> replies;
  if (order.items.size() == 1) {
    replies.push_back(RunAlone(order.items[0]));
  } else {
    replies = RunRace(order.items);
  }
  for (RunReply& reply : replies) {
    reply.run_seconds = clock_.MonotonicSeconds() - start;
    LearnFrom(reply);
    TW_RETURN_IF_ERROR(SendMessage(pipes_, ToJson(reply)));
  }
  return {};
}

}  // namespace

int RunWorkerMain(int in_fd, int out_fd) {
  const WorkerPipes pipes = TakePipes(in_fd, out_fd);
  Runner runner(pipes);
  return ServeMessages(pipes, [&](const Json& message) { return runner.Handle(message); });
}

}  // namespace tilewright::measure
