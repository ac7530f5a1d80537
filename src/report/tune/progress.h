#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "search/tuner.h"
#include "src/base/clock.h"
#include "src/report/document.h"

namespace tilewright::report {

/// Observer of a job that passes every event on to another observer, and keeps the progress for the
/// live page. Thread-safe.
class ProgressObserver final : public search::TuneObserver {
 public:
  /// next: receives every event. tasks: number of tasks of the job. trial_limit:
  /// JobSettings::trials. next and clock outlive the observer.
  ProgressObserver(search::TuneObserver& next, std::size_t tasks, std::int64_t trial_limit,
                   Clock& clock)
      : next_(next), clock_(clock), trial_limit_(trial_limit), finished_(tasks, false) {}

  void Opened(const std::string& job_name) override;
  void Resumed(std::int64_t trials) override;
  void LogDiscarded(const std::string& why) override { next_.LogDiscarded(why); }
  void StaleFirst(const search::TaskReport& task, int task_index, std::int64_t configs) override {
    next_.StaleFirst(task, task_index, configs);
  }
  void TrialDone(const search::TaskReport& task, int task_index, const Trial& trial,
                 double eta_seconds) override;
  void TaskFinished(const search::TaskReport& task, int task_index) override;
  void RaceBegins(int task_index) override { next_.RaceBegins(task_index); }

  /// Returns the name of the job; empty before it is open.
  std::string job() const;
  /// Returns the progress up to now; nothing before the first trial of this run. The share is that
  /// of the trials if their number is limited, else that of the time until the forecast end.
  std::optional<LivePage> Progress() const;

 private:
  search::TuneObserver& next_;
  Clock& clock_;
  std::int64_t trial_limit_;
  mutable std::mutex mutex_;  // guards the following members
  std::string job_;
  std::vector<bool> finished_;        // per task
  std::int64_t earlier_trials_ = 0;   // of earlier runs
  std::int64_t trials_ = 0;           // of this run
  double begun_ = 0, newest_at_ = 0;  // of the clock
  std::optional<double> end_;         // the last forecast, of the clock
  std::optional<LivePage> newest_;    // the members that name the newest trial
};

}  // namespace tilewright::report
