#include "search/measured/replay_summary.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "measure/statistics.h"

namespace tilewright::search {
std::vector<std::size_t> QualityCounts(std::size_t evaluations) {
  std::vector<std::size_t> counts;
  for (const std::size_t count : {1, 4, 16, 64, 220}) {
    if (count < evaluations) counts.push_back(count);
  }
  counts.push_back(evaluations);
  return counts;
}

Result<ReplaySummary> ReplayStrategy(const MeasuredSpace& space, const StrategyEntry& strategy,
                                     const ReplaySettings& settings, std::string* runs) {
  std::vector<DeviceRecords> records;
  for (const MeasuredSpace* other : settings.records) {
    if (other->SameAs(space)) continue;
    TW_ASSIGN_OR_RETURN(DeviceRecords own, other->RecordsFor(space));
    records.push_back(std::move(own));
  }
  const std::vector<std::size_t> counts = QualityCounts(settings.evaluations);
  std::vector<std::vector<double>> qualities(counts.size());
  std::size_t evaluations = 0;
  const std::clock_t start = std::clock();
  for (std::size_t seed = 0; seed < settings.seeds; ++seed) {
    TW_ASSIGN_OR_RETURN(const std::vector<Point> points,
                        ReplaySearch(space, strategy, records, seed, settings.evaluations));
    evaluations += points.size();
    for (std::size_t k = 0; k < counts.size(); ++k) {
      qualities[k].push_back(QualityAfter(space, points, counts[k]));
    }
    if (runs != nullptr) *runs += RunLine(space, strategy.key, seed, points) + "\n";
  }
  ReplaySummary summary;
  summary.space = space.name();
  summary.runs = settings.seeds;
  summary.milliseconds = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC /
                         static_cast<double>(std::max<std::size_t>(1, evaluations));
  for (std::vector<double>& values : qualities) {
    std::ranges::sort(values);
    summary.median.push_back(measure::Quantile(values, 0.5));
    summary.low.push_back(measure::Quantile(values, 0.1));
  }
  return summary;
}

ReplaySummary MeanOf(std::span<const ReplaySummary> spaces) {
  constexpr double kNothingFound = 1e-9;  // as the judge has it
  const auto mean_of = [&](std::vector<double> ReplaySummary::*member, std::size_t k) {
    double sum = 0;
    for (const ReplaySummary& one : spaces)
      sum += std::log(std::max((one.*member)[k], kNothingFound));
    return std::exp(sum / static_cast<double>(spaces.size()));
  };
  ReplaySummary mean;
  mean.space = "geometric mean";
  for (std::size_t k = 0; k < spaces[0].median.size(); ++k) {
    mean.median.push_back(mean_of(&ReplaySummary::median, k));
    mean.low.push_back(mean_of(&ReplaySummary::low, k));
  }
  for (const ReplaySummary& one : spaces) {
    mean.runs += one.runs;
    mean.milliseconds += one.milliseconds / static_cast<double>(spaces.size());
  }
  return mean;
}

}  // namespace tilewright::search
