#pragma once

#include <cstdint>
#include <string>

#include "search/job.h"
#include "src/base/clock.h"
#include "src/base/status.h"

namespace tilewright::search {

/// Seconds per racer that a budget reserves for a final race, as measured.
inline constexpr double kRacerSeconds = 0.35;

/// Limits of a job and their use: trials, and wall time over all of its runs. A part of the time
/// is reserved for the final races. Used by the thread of Tune only.
class Budget {
 public:
  /// Starts this run now. settings and clock outlive the budget. tasks: their number. Errors:
  /// kInvalidArgument for a deadline in the past.
  static Result<Budget> Start(const JobSettings& settings, Clock& clock, std::size_t tasks);

  /// A note of an earlier run, with the wall time of the job up to then.
  void AddEarlierRun(double elapsed_seconds);
  void CountProposed(std::int64_t trials) { proposed_ += trials; }
  /// Counts a finished trial, of this run or of an earlier one.
  void CountTrial(bool this_run);

  std::int64_t trials() const { return trials_; }
  std::int64_t trials_this_run() const { return trials_this_run_; }
  /// Number of trials that may still be proposed; only if the job has a limit of trials.
  std::int64_t proposals_left() const { return settings_.trials - proposed_; }
  /// Returns whether the finished trials and those in flight exhaust the limit.
  bool TrialsSpent(std::int64_t in_flight) const;

  /// Returns the wall time of this run, and of all runs.
  double RunSeconds() const { return clock_.MonotonicSeconds() - start_seconds_; }
  double ElapsedSeconds() const { return earlier_seconds_ + RunSeconds(); }
  /// Elapsed seconds at the end of the job, by its budget or its deadline; 0: no limit.
  double LimitSeconds() const;
  /// Returns whether the search's part of the time is over. Trials that are not running are dropped
  /// then.
  bool TimeSpent() const;
  /// Name of the limit that ends the search: "trials", "budget", "deadline"; empty: no limit
  /// reached.
  std::string LimitReached() const;
  /// Estimated seconds to the end of the search; 0: unknown.
  double EtaSeconds() const;
  /// Seconds of the limit for each of the remaining races.
  double RaceShare(int races_left) const;

 private:
  Budget(const JobSettings& settings, Clock& clock, std::size_t tasks)
      : settings_(settings),
        clock_(clock),
        tasks_(tasks),
        start_seconds_(clock.MonotonicSeconds()) {}
  /// Seconds of the limit that are reserved for the races.
  double RaceReserve() const;

  const JobSettings& settings_;
  Clock& clock_;
  std::size_t tasks_;
  double start_seconds_;
  double earlier_seconds_ = 0;   // wall time of earlier runs
  double deadline_seconds_ = 0;  // from the start of this run; 0: none
  std::int64_t proposed_ = 0;    // in all runs
  std::int64_t trials_ = 0, trials_this_run_ = 0;
};

}  // namespace tilewright::search
