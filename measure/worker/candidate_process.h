#pragma once

#include <sys/types.h>

#include <optional>

#include "measure/worker/child.h"
#include "measure/worker/timing_validator.h"
#include "src/base/clock.h"

namespace tilewright::measure {

/// The process of one candidate (RunChild), seen from the runner that forks it. The destructor ends
/// it and its descendants.
class CandidateProcess {
 public:
  /// item: outlives the process. limit_seconds: one call of the kernel may take so long.
  CandidateProcess(const RunOrder::Item& item, double limit_seconds)
      : item_(item), limit_seconds_(limit_seconds) {}
  CandidateProcess(const CandidateProcess&) = delete;
  CandidateProcess& operator=(const CandidateProcess&) = delete;
  ~CandidateProcess();

  /// Forks. `work` lacks item, report, exchange, descriptors and process ids, which are set here.
  /// Errors: kUnavailable if the system has no memory, pipes or processes left.
  Status Start(ChildParams work);
  /// Waits until the artifact is loaded. nullopt: exchange() has the answer. Else the process has
  /// ended, hung or talked nonsense, and does nothing any more.
  std::optional<Failure> WaitUntilLoaded();
  /// Has it do one step. Returns as WaitUntilLoaded does. A stopped process goes on.
  std::optional<Failure> RunStep(StepKind kind, const StepRequest& order);
  /// Stops all its threads until the next step: shared memory stays as it is. watched() then covers
  /// the time from the last order to the stop. Does nothing if the process has ended.
  void Stop();
  /// Only after Start.
  const Exchange& exchange() const { return shared_->exchange; }
  /// The runner's measure of the last step.
  const TimingValidator::RunnerTimes& runner_times() const { return runner_times_; }

 private:
  struct Shared {
    CrashReport report;
    Exchange exchange;
  };
  std::optional<Failure> WaitForAnswer();
  /// Whether it has been at the step for too long.
  bool IsHanging() const;
  /// Seconds of the processor that all its threads have used; 0 if unknown.
  double ProcessCpuSeconds() const;
  Failure DescribeExit();
  /// Ends it and its descendants. by_itself: first lets it end alone for a moment, for how it does.
  ExitStatus Reap(bool by_itself);

  const RunOrder::Item& item_;
  double limit_seconds_;
  double step_began_ = 0, processor_began_ = 0;
  double processor_ended_ = 0;  // at the end of the last step
  pid_t pid_ = -1;
  bool loading_ = true, ended_alone_ = false, stopped_ = false;
  int answer_fd_ = -1, command_fd_ = -1;
  Shared* shared_ = nullptr;  // with the child
  TimingValidator::RunnerTimes runner_times_;
  mutable SystemClock clock_;
};

}  // namespace tilewright::measure
