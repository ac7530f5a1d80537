#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "search/job.h"
#include "src/base/clock.h"
#include "src/base/status.h"

namespace tilewright::search {

/// Seconds per racer that a budget reserves for a final race, as measured.
inline constexpr double kRacerSeconds = 0.35;

/// Limits of a job and their use: trials, and wall time over all of its runs. The part of the time
/// that the final races need is reserved for them. Used by the thread of Tune only.
class Budget {
 public:
  /// Starts this run. settings and clock outlive the budget. tasks: their number. begun_seconds:
  /// monotonic time at which the run began; none: now. Errors: kInvalidArgument for a deadline in
  /// the past.
  static Result<Budget> Start(const JobSettings& settings, Clock& clock, std::size_t tasks,
                              std::optional<double> begun_seconds = std::nullopt);

  /// A note of an earlier run, with the wall time of the job up to then.
  void AddEarlierRun(double elapsed_seconds);
  void CountProposed(std::int64_t trials) { proposed_ += trials; }
  /// Counts a finished trial, of this run or of an earlier one.
  void CountTrial(bool this_run);

  std::int64_t trials() const { return trials_; }
  std::int64_t trials_this_run() const { return trials_this_run_; }
  /// Number of trials that may still be proposed; only if the job has a limit of trials.
  std::int64_t proposals_left() const { return settings_.trials - proposed_; }
  /// Sets the number of racers that final races would have now. Before the first call: as many as
  /// the settings permit.
  void SetRacers(std::int64_t racers) { racers_ = racers; }
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
  /// Estimated seconds to the end of the job, races included; 0: unknown. until_stale: trials until
  /// every task has stopped if none improves any more.
  double EtaSeconds(std::optional<std::int64_t> until_stale = std::nullopt) const;
  /// Seconds of the limit for each of the remaining races.
  double RaceShare(int races_left) const;

 private:
  Budget(const JobSettings& settings, Clock& clock, std::size_t tasks, double begun_seconds)
      : settings_(settings),
        clock_(clock),
        racers_(settings.finalists > 0 ? static_cast<std::int64_t>(tasks) * (settings.finalists + 1)
                                       : 0),
        start_seconds_(begun_seconds) {}
  /// Estimated seconds of the final races without any limit.
  double RaceSeconds() const;
  /// Seconds of the limit that are reserved for the races.
  double RaceReserve() const;

  const JobSettings& settings_;
  Clock& clock_;
  std::int64_t racers_;
  double start_seconds_;
  double earlier_seconds_ = 0;   // wall time of earlier runs
  double deadline_seconds_ = 0;  // from the start of this run; 0: none
  std::int64_t proposed_ = 0;    // in all runs
  std::int64_t trials_ = 0, trials_this_run_ = 0;
  std::deque<double> recent_;  // times of the last trials of this run, for its rate
};

}  // namespace tilewright::search
