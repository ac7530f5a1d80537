#pragma once

#include <sys/types.h>

#include <optional>

#include "measure/worker/child.h"
#include "measure/worker/timing_validator.h"
#include "src/base/clock.h"

namespace tilewright::measure {

/// Process of one candidate (RunChild), as the runner that forks it sees it. The destructor ends
/// the process and its descendants.
class CandidateProcess {
 public:
  /// item: must outlive the process. limit_seconds: maximum duration of one call of the kernel.
  CandidateProcess(const RunOrder::Item& item, double limit_seconds)
      : item_(item), limit_seconds_(limit_seconds) {}
  CandidateProcess(const CandidateProcess&) = delete;
  CandidateProcess& operator=(const CandidateProcess&) = delete;
  ~CandidateProcess();

  /// Forks. This function sets item, report, exchange, descriptors and process ids of `work`.
  /// Errors: kUnavailable if the system has no memory, pipes or processes left.
  Status Start(ChildParams work);
  /// Waits until the artifact is loaded. nullopt: exchange() contains the answer. Else the process
  /// has ended, hung or sent an invalid answer, and has been stopped for good.
  std::optional<Failure> WaitUntilLoaded();
  /// Runs one step in the process. Returns as WaitUntilLoaded does. A stopped process continues.
  std::optional<Failure> RunStep(StepKind kind, const StepRequest& order);
  /// Stops all its threads until the next step, so that shared memory does not change. The runner's
  /// measurement then covers the time from the last order to the stop. Does nothing if the process
  /// has ended.
  void Stop();
  /// Requires Start.
  const Exchange& exchange() const { return shared_->exchange; }
  /// Returns the runner's measurement of the last step.
  const TimingValidator::RunnerTimes& runner_times() const { return runner_times_; }

 private:
  struct Shared {
    CrashReport report;
    Exchange exchange;
  };
  std::optional<Failure> WaitForAnswer();
  /// Returns whether the current step exceeds its time limit.
  bool IsHanging() const;
  /// Returns the processor seconds of all its threads; 0 if unknown.
  double ProcessCpuSeconds() const;
  Failure DescribeExit();
  /// Ends the process and its descendants. by_itself: first gives it a moment to end by itself, so
  /// that its exit status shows the cause.
  ExitStatus Reap(bool by_itself);

  const RunOrder::Item& item_;
  double limit_seconds_;
  double step_began_ = 0, processor_began_ = 0;
  double processor_ended_ = 0;  // at the end of the last step
  pid_t pid_ = -1;
  bool loading_ = true, ended_alone_ = false, stopped_ = false;
  int answer_fd_ = -1, command_fd_ = -1;
  Shared* shared_ = nullptr;  // shared with the child
  TimingValidator::RunnerTimes runner_times_;
  mutable SystemClock clock_;
};

}  // namespace tilewright::measure
