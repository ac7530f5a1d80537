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

/// Preferred record among those with several known metrics: the minimum of one metric and, with a
/// limit, at most `limit` of another.
struct Preference {
  std::string minimized;  ///< metric
  std::string limited;    ///< metric; empty: no limit
  double limit = 0;       ///< of one task, or of all uses of a network's tasks together
  /// Of a network: share of the limit for one use of each workload (ShareLimit), by its key.
  std::map<std::string, double> shares;

  /// Parses "dram_bytes" or "cycles,dram_bytes<=15.3MB" (units: B, kB, MB, GB, KiB, MiB of bytes;
  /// s, ms, us, µs of seconds; J, mJ, uJ, µJ of joules).
  /// Errors: kInvalidArgument for another text, or a metric that the target lacks.
  static Result<Preference> Parse(std::string_view text, const Target& target);
  /// Returns false if the preference is the target's metric without a limit. For that one the
  /// winners of races are served, not the fastest single trial of a front, whose value is biased
  /// low.
  bool AsksForFront(const Target& target) const;
  /// Returns the metrics of the Pareto front; without a limit, the target's metric comes second.
  std::vector<std::string> Metrics(const Target& target) const;
  /// Returns the limit for one use of a workload; infinity if there is no limit.
  double LimitFor(const std::string& workload_key) const;
  /// Returns the preference as text.
  std::string ToString(double limit) const;
};

/// Returns the value by which a trial is compared. Seconds and joules of a single trial are the
/// minimum of many, so they are increased by the noise of the trial. Values from a race are not
/// changed. Returns infinity if the metric is unknown.
double NoiseAdjustedValue(const Trial& trial, const std::string& metric);
/// The same for a known value. attempt, noise: those of the Trial.
double NoiseAdjustedValue(std::string_view metric, double value, std::int64_t attempt,
                          double noise);

/// Returns true if one measurement of a config supersedes another one. A race precedes a repeated
/// measurement (measure::kRevisedAttempt), which replaces a doubtful first one; that precedes the
/// first measurement. Of two of the same kind, the later one counts.
bool Supersedes(std::int64_t attempt, double finished, std::int64_t other_attempt,
                double other_finished);
bool Supersedes(const Trial& trial, const Trial& other);

/// Returns the preferred record of a front by Preference::Metrics; if all exceed the limit, the one
/// nearest to it. front: not empty.
const Record& ChooseFrom(std::span<const Record> front, const Preference& prefer, double limit);

/// Task of a network: number of uses and Pareto front by (minimized, limited).
struct FrontTask {
  std::string workload_key;
  std::int64_t uses = 1;
  std::vector<Record> front;  ///< may be empty: the task is unmeasured and is ignored
};
/// Divides the limit of a preference among the uses of a network's tasks so that the sum of the
/// minimized metric is least (approximately, for very many combinations). Sets prefer.shares.
/// Errors: kNotFound with the least possible total, if that exceeds the limit.
Status ShareLimit(std::span<const FrontTask> tasks, Preference& prefer);

}  // namespace tilewright::records
