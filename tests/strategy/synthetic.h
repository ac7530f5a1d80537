#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cost_model/cost_model.h"
#include "cost_model/xgboost_model.h"
#include "search/registry.h"
#include "search/space.h"
#include "search/static_analyzer.h"
#include "src/base/hash.h"
#include "src/base/random.h"

namespace tilewright::search {

/// Synthetic templates whose default config is their first one. They cannot be applied.
inline const TemplateEntry& MadeTemplate(int which) {
  static constexpr auto kDefault = [](const Workload&, const Target&) -> Result<Config> {
    Config config;
    config.values = {{"a", KnobValue{std::vector<std::int64_t>{64, 1}}},
                     {"b", KnobValue{std::vector<std::int64_t>{48, 1}}},
                     {"c", KnobValue{std::int64_t{1}}},
                     {"d", KnobValue{false}}};
    return config;
  };
  static constexpr TemplateEntry kEntries[2] = {
      {"made.large", 1, "llvm", {}, nullptr, nullptr, +kDefault, nullptr, nullptr},
      {"made.small", 1, "llvm", {}, nullptr, nullptr, +kDefault, nullptr, nullptr}};
  return kEntries[which];
}

inline Knob SplitOf(const char* name, std::int64_t extent, int parts) {
  return *Knob::Split(name, extent, parts);
}

/// Two spaces: one of 7 x 10 x 5 x 2 = 700 configs times `widening`, one of 10.
inline SearchSpace MadeSpace(std::int64_t widening = 1) {
  SearchSpace space;
  ConfigSpace large;
  (void)large.Add(SplitOf("a", 64, 2));
  (void)large.Add(SplitOf("b", 48, 2));
  (void)large.Add(Knob::Other("c", {1, 2, 4, 8, 16}));
  (void)large.Add(Knob::Bool("d", {false, true}));
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < widening; ++i) values.push_back(i + 1);
  if (widening > 1) (void)large.Add(Knob::Other("e", values));
  ConfigSpace small;
  (void)small.Add(Knob::Other("c", {1, 2, 4, 8, 16}));
  (void)small.Add(Knob::Bool("d", {false, true}));
  space.templates = {&MadeTemplate(0), &MadeTemplate(1)};
  space.spaces = {large, small};
  return space;
}

/// Analyzer whose features are the knob values. It rejects every `refuse_every`-th index of the
/// first space.
class FakeAnalyzer final : public StaticAnalyzer {
 public:
  explicit FakeAnalyzer(const SearchSpace& space, std::int64_t refuse_every = 0)
      : space_(space), refuse_every_(refuse_every) {}
  Status Check(Point point) const override {
    if (refuse_every_ > 0 && point.space == 0 && point.index % refuse_every_ == refuse_every_ - 1) {
      return InvalidArgument("refused by the test");
    }
    return {};
  }
  Status Features(Point point, std::span<float> out) const override {
    TW_RETURN_IF_ERROR(Check(point));
    const Config config = space_.spaces[static_cast<std::size_t>(point.space)].At(point.index);
    std::fill(out.begin(), out.end(), 0.0f);
    out[0] = static_cast<float>(point.space);
    std::size_t next = 1;
    for (const auto& [name, value] : config.values) {
      const auto* factors = std::get_if<std::vector<std::int64_t>>(&value.value);
      const double number = factors != nullptr ? static_cast<double>(factors->back())
                                               : static_cast<double>(value.integer());
      out[next++] = static_cast<float>(std::log2(1 + number));
    }
    return {};
  }

 private:
  const SearchSpace& space_;
  std::int64_t refuse_every_;
};

/// Returns the seconds of a point: a smooth bowl over the logarithms of the knobs with a little
/// fixed roughness. The small space is 1.3 times slower than the best of the large one.
inline double MadeSeconds(const SearchSpace& space, Point point, std::uint64_t task = 0) {
  if (point.space == 1) return 1.3e-3 + 1e-5 * static_cast<double>(point.index);
  const Config config = space.spaces[0].At(point.index);
  const auto log = [](std::int64_t x) { return std::log2(static_cast<double>(x)); };
  const double a = log(config.Factors("a").back()) - 4;
  const double b = log(config.Factors("b").back()) - 3 - static_cast<double>(task % 2);
  const double c = log(config.Integer("c")) - 2;
  double penalty = 0.15 * a * a + 0.1 * b * b + 0.1 * c * c + (config.Integer("d") == 1 ? 0 : 0.2);
  if (const KnobValue* e = config.Find("e")) penalty += 0.03 * log(e->integer());
  const double rough =
      static_cast<double>(Mix64(static_cast<std::uint64_t>(point.index) + task) >> 40) * 0x1p-24;
  return 1e-3 * (1 + penalty) * (1 + 0.02 * rough);
}

inline StrategyContext MadeContext(const SearchSpace& space, const StaticAnalyzer& analyzer,
                                   std::uint64_t seed) {
  StrategyContext context;
  context.space = &space;
  context.analyzer = &analyzer;
  context.seed = seed;
  context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
  return context;
}

/// Runs the pending training jobs immediately.
inline void LearnNow(Strategy& strategy) {
  if (auto training_job = strategy.NextTrainingJob()) {
    if (training_job->Run().ok()) strategy.Finish(std::move(training_job));
  }
}

inline std::vector<Observation> Results(const SearchSpace& space,
                                        const std::vector<Point>& points) {
  std::vector<Observation> observed;
  for (Point point : points) observed.push_back({point, Outcome::kOk, MadeSeconds(space, point)});
  return observed;
}

}  // namespace tilewright::search
