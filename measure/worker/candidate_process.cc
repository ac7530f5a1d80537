#include "measure/worker/candidate_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
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

Status CandidateProcess::Start(ChildParams work) {
  void* shared =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return Unavailable("out of memory: no page to share");
  shared_ = ::new (shared) Shared;  // constructed in place, lives until munmap
  int answer[2], command[2];
  if (::pipe2(answer, O_CLOEXEC) != 0) return Unavailable("no pipe can be made");
  if (::pipe2(command, O_CLOEXEC) != 0) {
    ::close(answer[0]);
    ::close(answer[1]);
    return Unavailable("no pipe can be made");
  }
  step_began_ = clock_.MonotonicSeconds();
  const pid_t runner = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    work.item = &item_;
    work.report = &shared_->report;
    work.exchange = &shared_->exchange;
    work.answer_fd = answer[1];
    work.command_fd = command[0];
    work.runner_pid = runner;
    KeepDescriptors({work.answer_fd, work.command_fd});
    RunChild(work);
  }
  ::close(answer[1]);
  ::close(command[0]);
  answer_fd_ = answer[0];
  command_fd_ = command[1];
  if (pid_ < 0) return Unavailable("no process can be made");
  return {};
}

CandidateProcess::~CandidateProcess() {
  if (pid_ > 0) (void)Reap(/*by_itself=*/false);
  if (answer_fd_ >= 0) ::close(answer_fd_);
  if (command_fd_ >= 0) ::close(command_fd_);
  if (shared_ != nullptr) ::munmap(shared_, sizeof(Shared));
}

ExitStatus CandidateProcess::Reap(bool by_itself) {
  siginfo_t info{};
  ended_alone_ = false;
  // Time to end by itself: its pipe closes just before its exit, which may take a while on a busy
  // machine.
  for (int i = 0; by_itself && i < 500; ++i) {
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid != 0) {
      ended_alone_ = true;
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

double CandidateProcess::ProcessCpuSeconds() const {
  clockid_t id{};
  timespec time{};
  if (::clock_getcpuclockid(pid_, &id) != 0 || ::clock_gettime(id, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool CandidateProcess::IsHanging() const {
  const double elapsed = clock_.MonotonicSeconds() - step_began_;
  // Loading has a generous limit, too: most of it is spent in the loader or a library.
  if (loading_) return elapsed > 30 + 10 * limit_seconds_;
  if (elapsed <= limit_seconds_) return false;
  // A process that the machine did not schedule gets more time, with a limit: it may sleep.
  return elapsed > 3 * limit_seconds_ ||
         ProcessCpuSeconds() - processor_began_ > 0.7 * limit_seconds_;
}

Failure CandidateProcess::DescribeExit() {
  const ExitStatus ended = Reap(/*by_itself=*/true);
  // The sandbox prevents the process from sending that signal to itself: usually the system sends
  // it when memory runs out.
  const bool killed = ended_alone_ && ended.signaled && ended.code == SIGKILL;
  if (!killed) return {Outcome::kRunFailed, CrashReason(shared_->report, ended)};
  return {Outcome::kDeviceLost, "SIGKILL from outside ended the kernel's process",
          FaultDomain::kMachine};
}

std::optional<Failure> CandidateProcess::WaitForAnswer() {
  const double wait = std::clamp(limit_seconds_ / 10, 0.02, 0.5);
  while (true) {
    pollfd runner_times{answer_fd_, POLLIN, 0};
    if (::poll(&runner_times, 1, static_cast<int>(wait * 1e3)) > 0) {
      char answer = 0;
      const ssize_t count = ::read(answer_fd_, &answer, 1);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count == 1 && answer == kStepDone) return std::nullopt;
      if (count == 1) return Failure{Outcome::kRunFailed, "sent something that is not a reply"};
      return DescribeExit();
    }
    if (!IsHanging()) continue;
    char text[96];
    std::snprintf(text, sizeof(text),
                  loading_ ? "loading took more than %.3g s" : "one call took more than %.3g s",
                  loading_ ? clock_.MonotonicSeconds() - step_began_ : limit_seconds_);
    return Failure{Outcome::kRunTimeout, text};
  }
}

std::optional<Failure> CandidateProcess::WaitUntilLoaded() {
  auto failure = WaitForAnswer();
  loading_ = false;
  processor_ended_ = ProcessCpuSeconds();
  return failure;
}

std::optional<Failure> CandidateProcess::RunStep(StepKind kind, const StepRequest& order) {
  if (pid_ < 0) return Failure{Outcome::kRunFailed, "the kernel's process has ended"};
  shared_->exchange.order = order;
  shared_->exchange.samples = 0;
  shared_->exchange.answer = StepResult::kNone;
  processor_began_ = ProcessCpuSeconds();
  runner_times_.between_seconds += std::max(0.0, processor_began_ - processor_ended_);
  step_began_ = clock_.MonotonicSeconds();
  if (std::exchange(stopped_, false)) (void)::kill(pid_, SIGCONT);
  const char command = static_cast<char>(kind);
  (void)!::write(command_fd_, &command, 1);
  auto failure = WaitForAnswer();
  runner_times_.wall_seconds = clock_.MonotonicSeconds() - step_began_;
  processor_ended_ = failure ? processor_began_ : ProcessCpuSeconds();
  runner_times_.processor_seconds = processor_ended_ - processor_began_;
  return failure;
}

void CandidateProcess::Stop() {
  if (pid_ < 0 || stopped_ || ::kill(pid_, SIGSTOP) != 0) return;
  // The system reports the stop of the last thread, or the end. Reap takes the status.
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  stopped_ = true;
  runner_times_.wall_seconds = clock_.MonotonicSeconds() - step_began_;
  runner_times_.processor_seconds = std::max(0.0, ProcessCpuSeconds() - processor_began_);
}

}  // namespace tilewright::measure
