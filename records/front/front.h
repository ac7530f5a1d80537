#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "records/store.h"
#include "src/target/target.h"

namespace tilewright::records {

/// Which of a task's records is wanted where several metrics are known of them: the least of one,
/// and where a limit is given, no more than so much of another.
struct Preference {
  std::string minimized;  ///< metric
  std::string limited;    ///< metric; empty: there is no limit
  double limit = 0;       ///< of one task, or of all uses of a network's tasks together
  /// Of a network: what of the limit a use of each workload may take (ShareLimit), by its key.
  std::map<std::string, double> shares;

  /// From "dram_bytes" or "cycles,dram_bytes<=15.3MB" (units: B, kB, MB, GB, KiB, MiB of
  /// bytes; s, ms, us of seconds; J, mJ, uJ of joules).
  /// Errors: kInvalidArgument for another text, or a metric that is not known of the target.
  static Result<Preference> Parse(std::string_view text, const Target& target);
  /// False: it asks for the target's own metric without a limit. That is what races are about:
  /// their winners are served, not the fastest single trial of a front, which is flattered.
  bool AsksForFront(const Target& target) const;
  /// By which a front is to be made: of no limit, the target's own metric comes second.
  std::vector<std::string> Metrics(const Target& target) const;
  /// For a use of a workload; infinite where there is none.
  double LimitFor(const std::string& workload_key) const;
  /// What is wanted, in words.
  std::string ToString(double limit) const;
};

/// What a trial is compared by: seconds and joules of a single trial, the least of many, are as
/// many as its noise allows; those of a race are taken as they are. Infinite if the metric is not
/// known.
double NoiseAdjustedValue(const Trial& trial, const std::string& metric);
/// The same of a value that is known. attempt, noise: Trial's.
double NoiseAdjustedValue(std::string_view metric, double value, std::int64_t attempt,
                          double noise);

/// Whether a measurement of a config takes the place of another one: that of a race, before one
/// that was made again (measure::kRevisedAttempt) because the first may be spoilt, before the
/// first; of two alike the one that finished later.
bool Supersedes(std::int64_t attempt, double finished, std::int64_t other_attempt,
                double other_finished);
bool Supersedes(const Trial& trial, const Trial& other);

/// The record wanted of a front by Preference::Metrics; where all are above the limit, the one
/// nearest to it. front: not empty.
const Record& ChooseFrom(std::span<const Record> front, const Preference& prefer, double limit);

/// A task of a network: how often it is used, and its front by (least, limited).
struct FrontTask {
  std::string workload_key;
  std::int64_t uses = 1;
  std::vector<Record> front;  ///< may be empty: nothing is known of it, and it counts for nothing
};
/// Divides the limit of a preference among the uses of a network's tasks, so that the sum of what
/// is wanted little is least (of very many choices nearly so). Fills prefer.shares.
/// Errors: kNotFound with what the leanest choice takes, if that is above the limit.
Status ShareLimit(std::span<const FrontTask> tasks, Preference& prefer);

}  // namespace tilewright::records
