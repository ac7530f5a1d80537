#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/measured/measured_space.h"

namespace tilewright::search {

/// Quality of a strategy's runs on one measured space, or the geometric mean over several.
struct ReplaySummary {
  std::string space;
  std::size_t runs = 0;
  std::vector<double> median;  ///< Q(n) for each of the counts
  std::vector<double> low;     ///< its 10th percentile over the runs
  double milliseconds = 0;     ///< processor time for each evaluation
};

/// Counts at which Q(n) is stated: 1, 4, 16, 64, 220 up to `evaluations`, and that itself.
std::vector<std::size_t> QualityCounts(std::size_t evaluations);

/// Settings of a replay.
struct ReplaySettings {
  std::size_t seeds = 20;
  std::size_t evaluations = 220;
  std::vector<const MeasuredSpace*> records;  ///< of other devices; the space itself is skipped
};

/// Runs a strategy with the seeds 0, 1, … and summarizes. runs: gets a RunLine for each; may be
/// null. Errors: those of ReplaySearch and RecordsFor.
Result<ReplaySummary> ReplayStrategy(const MeasuredSpace& space, const StrategyEntry& strategy,
                                     const ReplaySettings& settings, std::string* runs);

/// Returns the geometric means over spaces; the processor time is the mean.
ReplaySummary MeanOf(std::span<const ReplaySummary> spaces);

}  // namespace tilewright::search
