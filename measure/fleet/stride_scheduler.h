#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/fleet/subjects.h"

namespace tilewright::measure::fleet {

/// Stride scheduler that selects a device's next job. Each job with work gets a share of the
/// device's time in proportion to its weight. Every device schedules its own time, so the fleet
/// needs no central scheduler. Uses no clock. Not thread-safe.
class StrideScheduler {
 public:
  /// Maximum total weight of a user's jobs.
  static constexpr double kMaxOfUser = 64;

  /// seed: of the device. Different seeds keep devices from serving the jobs in the same order.
  explicit StrideScheduler(std::uint64_t seed = 0) : seed_(seed) {}

  /// Adds a job or changes its weight. A new job joins the current round.
  void Set(const JobName& job, double weight);
  void Remove(const JobName& job);
  /// Returns the job with the least service for its weight among those for which `may` returns
  /// true; nullopt if there is none.
  template <typename May>
  std::optional<JobName> Choose(May may) const {
    std::optional<JobName> chosen;
    double least = 0;
    for (const auto& [name, job] : jobs_) {
      if (chosen && job.used_share >= least) continue;
      if (!may(name)) continue;
      chosen = name;
      least = job.used_share;
    }
    return chosen;
  }
  /// Charges the job for an order in advance, by its usual duration. Returns the charge, for
  /// Settle.
  double Charge(const JobName& job);
  /// Corrects the charge of a finished order to its actual seconds. charged: the result of Charge.
  void Settle(const JobName& job, double charged, double seconds);
  /// Records that the job had no work. Unused time is not carried over, except for one order.
  void Idle(const JobName& job);
  /// Returns the usual duration of the job's orders, in seconds.
  double UsualSeconds(const JobName& job) const;

 private:
  struct Job {
    double asked = 1;       ///< requested weight
    double weight = 1;      ///< weight within the user's limit
    double used_share = 0;  ///< seconds for a weight of 1, including `lead`
    double lead = 0;        ///< place in a round, as a part of the usual order
    double usual = 0;       ///< moving average of an order's seconds; 0: unknown
  };
  void UpdateWeights();
  /// Returns the part of an order by which the job starts after the beginning of a round. Differs
  /// between devices.
  double OffsetOf(const JobName& job) const;
  /// Returns the used share of the least served job.
  double Least(const JobName& except) const;
  /// Returns the used share at which the current round began.
  double RoundBegan(const JobName& except) const;

  std::uint64_t seed_;
  std::map<JobName, Job> jobs_;
};

}  // namespace tilewright::measure::fleet
