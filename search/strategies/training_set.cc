#include <algorithm>

#include "search/strategies/model_guided.h"

namespace tilewright::search {
namespace {

// With this many own trials, those of other tasks add nothing.
constexpr std::size_t kEnoughOwn = 96;
// Beyond this, training would take longer than the trials it serves.
constexpr std::size_t kMaxOwn = 2048;
constexpr std::size_t kKeptFastest = 512;

}  // namespace

namespace {

// Training compares two trials of one group by their times. A comparison of noisy ones says little,
// and of a noisy with a clean one nothing. Noisy trials are therefore a separate group with less
// weight.
constexpr float kNoisyWeight = 0.3F;

void AddRows(const StaticAnalyzer& analyzer, const std::vector<Observation>& trials, float weight,
             cost_model::Dataset& data) {
  double best = 0;
  for (const Observation& observed : trials) {
    if (observed.outcome == Outcome::kOk && observed.value > 0 &&
        (best == 0 || observed.value < best)) {
      best = observed.value;
    }
  }
  const auto width = static_cast<std::size_t>(cost_model::FeatureCount());
  std::uint32_t rows = 0;
  data.features.reserve(data.features.size() + trials.size() * width);
  for (const Observation& observed : trials) {
    data.features.resize(data.features.size() + width);
    const std::span<float> row(data.features.data() + data.features.size() - width, width);
    if (!analyzer.Features(observed.point, row).ok()) {
      data.features.resize(data.features.size() - width);
      continue;
    }
    const bool ok = observed.outcome == Outcome::kOk && observed.value > 0;
    data.scores.push_back(ok ? static_cast<float>(best / observed.value) : 0);
    ++rows;
  }
  if (rows == 0) return;
  data.group_sizes.push_back(rows);
  data.group_weights.push_back(weight);
}

}  // namespace

void AddGroup(const StaticAnalyzer& analyzer, const std::vector<Observation>& trials,
              cost_model::Dataset& data) {
  std::vector<Observation> clean, noisy;
  for (const Observation& observed : trials) (observed.noisy ? noisy : clean).push_back(observed);
  AddRows(analyzer, clean, 1, data);
  AddRows(analyzer, noisy, kNoisyWeight, data);
}

cost_model::Dataset MakeDataset(const StaticAnalyzer& analyzer, const std::vector<Observation>& own,
                                const std::vector<WarmGroup>& warm) {
  cost_model::Dataset data;
  if (own.size() < kEnoughOwn) {
    for (const WarmGroup& group : warm) AddGroup(*group.analyzer, group.trials, data);
  }
  if (own.size() <= kMaxOwn) {
    AddGroup(analyzer, own, data);
    return data;
  }
  const std::size_t newest = own.size() - (kMaxOwn - kKeptFastest);
  std::vector<Observation> kept(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(newest));
  const auto rank = [](const Observation& observed) {
    return observed.outcome == Outcome::kOk && observed.value > 0 ? 1 / observed.value : 0;
  };
  std::stable_sort(kept.begin(), kept.end(),
                   [&](const Observation& a, const Observation& b) { return rank(a) > rank(b); });
  kept.resize(kKeptFastest);
  kept.insert(kept.end(), own.begin() + static_cast<std::ptrdiff_t>(newest), own.end());
  AddGroup(analyzer, kept, data);
  return data;
}

}  // namespace tilewright::search
