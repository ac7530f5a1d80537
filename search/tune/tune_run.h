#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/task_scheduler.h"
#include "search/tune/budget.h"
#include "search/tune/journal.h"
#include "search/tune/pipeline.h"
#include "search/tune/proposer.h"
#include "search/tune/tune_job.h"
#include "search/tuner.h"

namespace tilewright::search {

/// One call of Tune: Open, Search, Race, Report, in this order.
class TuneRun {
 public:
  TuneRun(const JobSettings& settings, const TuneContext& context) : job_(settings, context) {}

  /// Makes spaces and job, and restores the job's state if it has been run before. log: number of
  /// earlier logs of the job that no longer replay.
  Status Open(const std::vector<TuneTask>& tasks, int log);
  /// After Open has failed: whether the log is intact, but spaces or strategies have changed.
  bool log_diverged() const { return log_diverged_; }
  /// Searches until the limits are reached, every task is retired, or stop is requested.
  /// Errors: also kInvalidArgument with the reasons if no config of any task is legal, so that
  /// nothing was measured.
  Status Search();
  /// Races the finalists of every task and stores the winners. After a search that was interrupted:
  /// reports the races of earlier runs.
  Status Race();
  TuneReport Report() const;

 private:
  Status MakeTasks(const std::vector<TuneTask>& tasks);
  Status Resume();
  /// Errors: kCorrupt for trials of another version of the code generator.
  Status CheckVersions() const;
  /// Restores the elapsed time from the notes in the log.
  Status RestoreElapsedTime();
  /// Restores what the verification at the end of an earlier run found.
  Status ReplayVerified(TaskState& state) const;
  Status CheckAnyTrial() const;

  TuneJob job_;
  bool log_diverged_ = false, interrupted_ = false;
  // Made by Open. Each refers to those above it.
  std::unique_ptr<TaskScheduler> scheduler_;
  std::unique_ptr<Budget> budget_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<TuneProposer> proposer_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace tilewright::search
