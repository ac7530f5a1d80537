#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/space/config.h"
#include "src/target/cpu.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// What became of a trial. Stored as a number: values never change.
enum class Outcome : std::uint8_t {
  kOk = 0,
  kInvalid = 1,  ///< refused by a static check before building
  kBuildFailed = 2,
  kBuildTimeout = 3,
  kRunFailed = 4,  ///< crash, out of memory, write out of bounds (the reason says which)
  kRunTimeout = 5,
  kWrongResult = 6,
  kDeviceLost = 7,
};
std::string_view OutcomeName(Outcome outcome);  ///< "ok", "invalid", "build_failed", …
Result<Outcome> ParseOutcome(std::string_view name);

/// A config proposed for a task: everything needed to build and judge one kernel.
struct Candidate {
  Task task;
  Epilogue epilogue;         ///< the one it is measured with
  std::string template_key;  ///< key of src/templates/registry.h
  int template_version = 0;
  Config config;
};

/// See Trial::attempt.
inline constexpr std::int64_t kDeviceLostAttempt = -1;

/// A candidate and what came of it. Immutable once stored; a failing one is data.
struct Trial {
  Candidate candidate;
  Outcome outcome = Outcome::kInvalid;
  std::string reason;  ///< one line; empty when ok
  std::string metric = "seconds";
  std::vector<double> samples;  ///< all raw samples, in order
  double value = 0;  ///< what the samples say: a low quantile of those taken in quiet moments
  double noise = 0;  ///< relative half-width of the 95 % interval of `value`
  /// What else the same run said, by metric (MetricsOf of src/templates/device.h). Stored are those
  /// that the job asked for.
  std::map<std::string, double> others;
  /// Share of the samples that were taken in quiet moments; below 0 where nobody knows (simulators,
  /// records of earlier versions).
  double clean_fraction = -1;
  /// What the cost model that the search asked thought of the candidate before it was measured:
  /// higher is better, and only the order among trials of one task counts. None where no model was
  /// asked (records of earlier versions, too).
  std::optional<double> predicted;
  bool verified = false;     ///< result equal to the reference
  double max_abs_error = 0;  ///< of the verification
  double build_seconds = 0, run_seconds = 0;
  DeviceFingerprint device;
  int codegen_version = 0;
  /// 0 for the search's measurement of this config in this job, 1 and up in races;
  /// kDeviceLostAttempt where a device that was lost kept the search from one, and it was tried
  /// again.
  std::int64_t attempt = 0;
  double finished_unix_seconds = 0;

  /// Measured in noise: fewer than four samples (of few: than half of them) are from quiet moments.
  /// `value` is then too slow rather than too fast. False where nobody knows.
  bool noisy() const {
    const auto count = static_cast<double>(samples.size());
    return clean_fraction >= 0 && count > 0 &&
           clean_fraction * count < std::min(4.0, count / 2) - 1e-6;
  }
  /// Its value of a metric; nothing if that is not known.
  std::optional<double> ValueOf(std::string_view of) const;
};

}  // namespace tilewright
