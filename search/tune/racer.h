#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/measurer.h"
#include "search/job_log.h"
#include "search/tune/budget.h"
#include "search/tune/tune_job.h"

namespace tilewright::search {

/// Returns the number of configs that a race of the task would have now; 0 if its last race is
/// current, or races are off.
std::int64_t CountFinalists(const TaskState& state, const JobSettings& settings);

/// Final races of a job. The finalists of a task are measured again, interleaved, together with the
/// default config; the winner is stored as the task's best. Used by the thread of Tune, after the
/// search, when everything is durable.
class Racer {
 public:
  /// Finished search.
  struct Search {
    std::int64_t batches = 0;  ///< proposed in all runs of the job
    double seconds = 0;        ///< wall time in this run
    TimeEntry time;            ///< its last record of the time
  };
  /// job and budget outlive the racer.
  Racer(TuneJob& job, const Budget& budget, Search search)
      : job_(job), budget_(budget), search_(search) {}

  /// Races all tasks and marks the job finished, unless stop is requested.
  /// Errors: those of measurer and store; kUnavailable for a device lost while it verified.
  Status Race();
  /// Whether stop was requested before all tasks were raced.
  bool interrupted() const { return interrupted_; }
  /// Instead of Race: reports show the winners of earlier runs' races.
  void ReportEarlierRaces();

 private:
  /// races_left: this race and the remaining ones, which share the rest of the budget.
  Status RaceTask(int task, int races_left);
  /// Shows the winner of the task's last race in the report if this run has no race: queries return
  /// that one.
  static void ReportEarlierRace(TaskState& state);
  /// Verifies a task's unverified trials: the fastest one with a correct result is the best.
  Status VerifyFastest(TaskState& state);
  /// Verifies the rest of a task's front, and the points that replace wrong ones. verified: the
  /// fastest point, which is verified already.
  Status VerifyFront(TaskState& state, Point verified, std::int64_t attempt);
  /// Attempt number of a task's next race: above those of all trials in the store, since trials of
  /// a race that was interrupted keep their ids.
  Result<std::int64_t> NextAttempt(const TaskState& state) const;
  /// Records the time of a race, so that a resumed job has the rest of its budget. The breakdown
  /// remains that of the search.
  Status RecordTime();
  /// Stores the best of a task and its entry of the log; shows it in the report.
  Status StoreWinner(TaskState& state, const BestEntry& best, const Trial& trial);
  /// Returns the fastest trials, noisy ones that may be as fast, and the default config, as many as
  /// the time permits; empty if it does not permit two.
  std::vector<Observation> Finalists(const TaskState& state, double seconds_left) const;
  measure::RaceSettings RaceSettingsOf(const TaskState& state,
                                       const std::vector<Observation>& finalists,
                                       int races_left) const;
  /// Returns the entry of a race. winner: position of the winner, if any finalist may win.
  BestEntry WinnerOf(const TaskState& state, const std::vector<Observation>& finalists,
                     const std::vector<Trial>& raced, std::optional<std::size_t>& winner) const;

  TuneJob& job_;
  const Budget& budget_;
  const Search search_;
  double race_seconds_ = 0;  // of the races so far
  bool interrupted_ = false;
};

}  // namespace tilewright::search
