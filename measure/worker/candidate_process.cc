#include "measure/worker/candidate_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <utility>
#include <vector>

namespace tilewright::measure {
namespace {

/// Closes every descriptor of the runner in a child but the ones it needs.
void KeepDescriptors(std::vector<int> needed) {
  unsigned first = 3;
  std::ranges::sort(needed);
  for (const int kept : needed) {
    if (kept < 3) continue;
    const auto fd = static_cast<unsigned>(kept);
    if (fd > first) (void)::close_range(first, fd - 1, 0);
    first = fd + 1;
  }
  (void)::close_range(first, ~0U, 0);
}

}  // namespace

Status CandidateProcess::Start(ChildWork work, bool commanded) {
  void* shared = ::mmap(nullptr, sizeof(ChildReport), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return Unavailable("out of memory: no page to share");
  report_ = ::new (shared) ChildReport;  // constructed in place, lives until munmap
  int result[2], command[2] = {-1, -1};
  if (::pipe2(result, O_CLOEXEC) != 0) return Unavailable("no pipe can be made");
  if (commanded && ::pipe2(command, O_CLOEXEC) != 0) {
    ::close(result[0]);
    ::close(result[1]);
    return Unavailable("no pipe can be made");
  }
  last_progress_ = clock_.MonotonicSeconds();
  const pid_t runner = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    work.item = &item_;
    work.report = report_;
    work.result_fd = result[1];
    work.command_fd = command[0];
    work.runner_pid = runner;
    std::vector<int> needed = {work.result_fd, work.command_fd};
    if (work.energy != nullptr) {
      for (const int fd : work.energy->descriptors()) needed.push_back(fd);
    }
    KeepDescriptors(std::move(needed));
    RunChild(work);
  }
  ::close(result[1]);
  if (commanded) ::close(command[0]);
  result_fd_ = result[0];
  command_fd_ = command[1];
  if (pid_ < 0) return Unavailable("no process can be made");
  return {};
}

CandidateProcess::~CandidateProcess() {
  if (pid_ > 0) (void)Reap(/*by_itself=*/false);
  if (result_fd_ >= 0) ::close(result_fd_);
  if (command_fd_ >= 0) ::close(command_fd_);
  if (report_ != nullptr) ::munmap(report_, sizeof(ChildReport));
}

ExitStatus CandidateProcess::Reap(bool by_itself) {
  siginfo_t info{};
  // A moment to end by itself: its pipe closes just before it is gone, and on a busy machine that
  // may take a while.
  for (int i = 0; by_itself && i < 500; ++i) {
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

void CandidateProcess::Fail(Outcome outcome, std::string reason) {
  failed_.ticket = item_.ticket;
  failed_.outcome = outcome;
  failed_.reason = std::move(reason);
}

bool CandidateProcess::IsHanging() {
  const double now = clock_.MonotonicSeconds();
  const double call_started = report_->call_started;
  if (call_started > 0) {
    const double elapsed = now - call_started;
    if (elapsed <= limit_seconds_) return false;
    // Where the machine did not let it run it gets more time, but not for ever: it may sleep.
    return elapsed > 3 * limit_seconds_ || ProcessorSeconds(pid_) > 0.7 * limit_seconds_;
  }
  // Outside a call: loading, comparing. Bounded too, generously: the code there is ours but for the
  // artifact's constructors.
  return now - last_progress_ > 30 + 10 * limit_seconds_;
}

std::optional<std::string> CandidateProcess::NextLine() {
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

RunReply CandidateProcess::ReplyFrom(const std::string& line) {
  auto json = ParseJson(line);
  if (json.ok()) {
    auto reply = RunReplyFrom(*json);
    if (reply.ok() && reply->ticket == item_.ticket) {
      // What only the runner itself can say, a candidate cannot.
      reply->runner_ends = false;
      if (reply->blame == Blame::kMachine) reply->blame = Blame::kUnclear;
      return *std::move(reply);
    }
  }
  Fail(Outcome::kRunFailed, "sent something that is no reply" + PhaseText(report_->phase));
  return failed_;
}

void CandidateProcess::Command(char command) { (void)!::write(command_fd_, &command, 1); }

RunReply CandidateProcess::Reply() {
  const auto line = NextLine();
  return line ? ReplyFrom(*line) : failed_;
}

}  // namespace tilewright::measure
