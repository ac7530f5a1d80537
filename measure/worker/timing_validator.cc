#include "measure/worker/timing_validator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tilewright::measure {
namespace {

/// Both processes read the same clock: differences are rounding errors of sums.
constexpr double kClockTolerance = 1.001;
constexpr double kClockSeconds = 1e-6;
/// Processor time outside of the samples: between the order and the first one, and cache misses
/// after other processes used the core.
constexpr double kMinShare = 0.5;
constexpr double kUncountedSeconds = 2e-3;
/// A verified run against the usual one: it may find no cache warm, and meet a lower clock.
constexpr double kMaxSlowdown = 4;
constexpr double kSlowStartSeconds = 1e-3;

std::string ClaimText(const char* format, double first, double second) {
  char text[160];
  std::snprintf(text, sizeof(text), format, first, second);
  return text;
}

}  // namespace

double TimingValidator::WorkedSeconds(const RunnerTimes& seen) const {
  return std::min(seen.wall_seconds, seen.processor_seconds / std::max(1, terms_.threads));
}

std::optional<std::string> TimingValidator::AddSlice(std::span<const double> samples,
                                                     std::int64_t batch, const RunnerTimes& seen) {
  if (samples.empty()) return "reported no samples";
  double least = samples[0];
  for (const double sample : samples) {
    if (!std::isfinite(sample) || sample <= 0) return "reported samples that are no times";
    least = std::min(least, sample);
    reported_ += sample * static_cast<double>(batch);
  }
  wall_ += seen.wall_seconds;
  worked_ += WorkedSeconds(seen);
  // Idle threads of a pool, or of a library's, spin for some milliseconds after a step.
  if (terms_.threads <= 1) between_ = seen.between_seconds;
  const double worked = worked_ + between_;
  if (reported_ > kClockTolerance * wall_ + kClockSeconds) {
    return ClaimText("reported samples of %.3g s in all, by the runner's clock they took %.3g s",
                     reported_, wall_);
  }
  if (least < terms_.min_call_seconds) {
    return ClaimText("reported %.3g s for a call, this machine needs %.3g s for one at least",
                     least, terms_.min_call_seconds);
  }
  if (reported_ < kMinShare * worked - kUncountedSeconds) {
    return ClaimText("reported samples of %.3g s in all, it has used the processor for %.3g s",
                     reported_, worked);
  }
  return std::nullopt;
}

std::optional<std::string> TimingValidator::CheckVerifiedRun(std::int64_t calls,
                                                             double call_seconds,
                                                             const RunnerTimes& seen) const {
  const double expected = call_seconds * static_cast<double>(calls);
  const double worked = WorkedSeconds(seen);
  if (worked <= kMaxSlowdown * expected + kSlowStartSeconds) return std::nullopt;
  return ClaimText("reported %.3g s for calls that took %.3g s where their result was verified",
                   expected, worked);
}

}  // namespace tilewright::measure
