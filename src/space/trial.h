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

/// Outcome of a trial. Stored as a number: values never change.
enum class Outcome : std::uint8_t {
  kOk = 0,
  kInvalid = 1,  ///< rejected by a static check before building
  kBuildFailed = 2,
  kBuildTimeout = 3,
  kRunFailed = 4,  ///< crash, out of memory or write out of bounds (see the reason)
  kRunTimeout = 5,
  kWrongResult = 6,
  kDeviceLost = 7,
};
std::string_view OutcomeName(Outcome outcome);  ///< "ok", "invalid", "build_failed", …
Result<Outcome> ParseOutcome(std::string_view name);

/// Config proposed for a task, with all data needed to build and verify one kernel.
struct Candidate {
  Task task;
  Epilogue epilogue;         ///< epilogue of the measured kernel
  std::string template_key;  ///< key of src/templates/registry.h
  int template_version = 0;
  Config config;
};

/// See Trial::attempt.
inline constexpr std::int64_t kDeviceLostAttempt = -1;

/// Candidate with the result of its measurement. Immutable once stored; failed trials are stored
/// too.
struct Trial {
  Candidate candidate;
  Outcome outcome = Outcome::kInvalid;
  std::string reason;  ///< one line; empty when ok
  std::string metric = "seconds";
  std::vector<double> samples;  ///< all raw samples, in order
  double value = 0;             ///< estimate from the samples: a low quantile of the clean ones
  double noise = 0;             ///< relative half-width of the 95 % interval of `value`
  /// Other metrics of the same run, by name (MetricsOf of src/templates/device.h). Only those that
  /// the job requested are stored.
  std::map<std::string, double> others;
  /// Fraction of clean samples, taken without interference; below 0 if unknown (simulators, records
  /// of earlier versions).
  double clean_fraction = -1;
  /// Prediction by the search's cost model before the measurement: higher is better, and only the
  /// order among trials of one task counts. Empty without a model (and in records of earlier
  /// versions).
  std::optional<double> predicted;
  bool verified = false;     ///< result equal to the reference
  double max_abs_error = 0;  ///< of the verification
  double build_seconds = 0, run_seconds = 0;
  DeviceFingerprint device;
  int codegen_version = 0;
  /// 0 for the search's measurement of this config in this job, 1 and up in races.
  /// kDeviceLostAttempt for a retry after a lost device prevented the search's measurement.
  std::int64_t attempt = 0;
  double finished_unix_seconds = 0;

  /// Returns true if the trial is noisy: fewer than four samples are clean (of few samples: fewer
  /// than half). `value` is then too high rather than too low. False if unknown.
  bool noisy() const {
    const auto count = static_cast<double>(samples.size());
    return clean_fraction >= 0 && count > 0 &&
           clean_fraction * count < std::min(4.0, count / 2) - 1e-6;
  }
  /// Returns the value of a metric; nullopt if unknown.
  std::optional<double> ValueOf(std::string_view of) const;
};

}  // namespace tilewright
