#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/fleet/subjects.h"

namespace tilewright::measure::fleet {

/// Which job a device works for next: each gets of the device's time what its weight is of all
/// weights of jobs that have work (stride scheduling). Every device divides its own time, so the
/// fleet's is divided without anybody who would have to know all of it. Knows no clock. Not
/// thread-safe.
class StrideScheduler {
 public:
  /// All jobs of a user together weigh at most this much.
  static constexpr double kMaxOfUser = 64;

  /// seed: of the device. Devices that all began with the same job would all round the same way.
  explicit StrideScheduler(std::uint64_t seed = 0) : seed_(seed) {}

  /// A job is there, or weighs something else now. A new one gets its place in the round that the
  /// others are in.
  void Set(const JobName& job, double weight);
  void Remove(const JobName& job);
  /// The job that has had least for its weight, among those that `may` says yes to; nullopt: none.
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
  /// It has an order: what these usually take counts at once. returns that, for Settle.
  double Charge(const JobName& job);
  /// The order took so long; charged: as Charge said.
  void Settle(const JobName& job, double charged, double seconds);
  /// It had nothing to do: what it did not use is nobody's debt, but for one order.
  void Idle(const JobName& job);
  /// The order a job usually has, in seconds.
  double UsualSeconds(const JobName& job) const;

 private:
  struct Job {
    double asked = 1;       ///< weight as told
    double weight = 1;      ///< ... within what its user may have
    double used_share = 0;  ///< seconds for a weight of 1, `lead` included
    double lead = 0;        ///< its place in a round: a part of what one order is
    double usual = 0;       ///< moving average of an order's seconds; 0: unknown
  };
  void UpdateWeights();
  /// The part of an order by which a job's place in a round is behind the round's beginning;
  /// another one on each device.
  double OffsetOf(const JobName& job) const;
  /// What the job that had least has had.
  double Least(const JobName& except) const;
  /// Where the round that the others are in began.
  double RoundBegan(const JobName& except) const;

  std::uint64_t seed_;
  std::map<JobName, Job> jobs_;
};

}  // namespace tilewright::measure::fleet
