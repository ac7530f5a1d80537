#include "search/strategies/evolve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "search/registry.h"
#include "search/space.h"
#include "search/strategies/automatic.h"
#include "tests/strategy/synthetic.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

constexpr int kDigits = 12;

/// Returns a space of 10^12 configs: twelve knobs of ten values.
SearchSpace HugeSpace() {
  SearchSpace space;
  ConfigSpace one;
  for (int k = 0; k < kDigits; ++k) {
    EXPECT_TRUE(one.Add(Knob::Other("k" + std::to_string(k), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})).ok());
  }
  space.templates = {&MadeTemplate(0)};
  space.spaces = {one};
  return space;
}

std::vector<std::int64_t> DigitsOf(std::int64_t index) {
  std::vector<std::int64_t> digits;
  for (int k = 0; k < kDigits; ++k, index /= 10) digits.push_back(index % 10);
  return digits;
}

/// Analyzer that accepts configs in which each pair of adjacent digits sums to at most nine: one of
/// 37 configs. Counts its calls.
class HugeAnalyzer final : public StaticAnalyzer {
 public:
  Status Check(Point point) const override {
    ++looks_;
    const std::vector<std::int64_t> digits = DigitsOf(point.index);
    for (std::size_t k = 0; k + 1 < digits.size(); k += 2) {
      if (digits[k] + digits[k + 1] > 9) return InvalidArgument("too large a pair");
    }
    return {};
  }
  Status Features(Point point, std::span<float> out) const override {
    TW_RETURN_IF_ERROR(Check(point));
    std::ranges::fill(out, 0.0F);
    const std::vector<std::int64_t> digits = DigitsOf(point.index);
    for (std::size_t k = 0; k < digits.size(); ++k) out[k] = static_cast<float>(digits[k]);
    return {};
  }
  int looks() const { return looks_; }

 private:
  mutable int looks_ = 0;
};

/// Returns 1 for the best config; each digit costs by its distance.
double HugeSeconds(Point point) {
  const std::vector<std::int64_t> digits = DigitsOf(point.index);
  double seconds = 1;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const double distance = static_cast<double>(digits[k] - static_cast<std::int64_t>(k % 5));
    seconds += 0.02 * distance * distance;
  }
  return seconds;
}

struct Searched {
  double best = 1e9;
  int max_looks = 0;  ///< of one proposal
};

Searched SearchHuge(const char* strategy_key, int trials) {
  const SearchSpace space = HugeSpace();
  const HugeAnalyzer analyzer;
  auto strategy = BuiltInStrategies().Find(strategy_key)->make(MadeContext(space, analyzer, 1));
  Searched searched;
  for (int observed = 0; observed < trials; observed += 8) {
    const int before = analyzer.looks();
    const std::vector<Point> points = strategy->Ask(8);
    searched.max_looks = std::max(searched.max_looks, analyzer.looks() - before);
    EXPECT_EQ(points.size(), 8U);
    std::vector<Observation> results;
    for (Point point : points) {
      results.push_back({point, Outcome::kOk, HugeSeconds(point)});
      searched.best = std::min(searched.best, HugeSeconds(point));
    }
    strategy->Tell(results);
    LearnNow(*strategy);
  }
  return searched;
}

TEST(HugeSpaceTest, IsCountedWithoutEnumeration) {
  SearchSpace space = HugeSpace();
  EXPECT_EQ(space.size(), 1'000'000'000'000);
  ConfigSpace largest;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    std::vector<std::int64_t> values(1200);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
    ASSERT_TRUE(largest.Add(Knob::Other(name, values)).ok());
  }
  space.spaces = {largest, largest, largest, largest};  // more than 2^63 together
  EXPECT_EQ(space.size(), std::numeric_limits<std::int64_t>::max());
}

TEST(HugeSpaceTest, NeighboursAndChildrenDifferAsTheyShould) {
  const SearchSpace space = HugeSpace();
  Random random(3);
  std::vector<int> changed(kDigits, 0);
  for (int i = 0; i < 300; ++i) {
    const Point a = SamplePoint(space, random), b = SamplePoint(space, random);
    const std::vector<std::int64_t> mother = DigitsOf(a.index), father = DigitsOf(b.index);
    const std::vector<std::int64_t> neighbour = DigitsOf(MutatePoint(space, a, random).index);
    const std::vector<std::int64_t> child = DigitsOf(CrossPoints(space, a, b, random).index);
    int different = 0;
    for (std::size_t k = 0; k < mother.size(); ++k) {
      different += neighbour[k] != mother[k] ? 1 : 0;
      changed[k] += neighbour[k] != mother[k] ? 1 : 0;
      EXPECT_TRUE(child[k] == mother[k] || child[k] == father[k]);
    }
    EXPECT_EQ(different, 1);
  }
  EXPECT_GT(*std::ranges::min_element(changed), 0);
}

TEST(HugeSpaceTest, ASmallSpaceBesideItIsDrawnFrom) {
  SearchSpace space = HugeSpace();
  ConfigSpace small;
  ASSERT_TRUE(small.Add(Knob::Other("c", {1, 2, 4, 8, 16, 32, 64, 128, 256})).ok());
  space.templates.push_back(&MadeTemplate(1));
  space.spaces.push_back(small);
  Random random(1);
  int drawn = 0;
  for (int i = 0; i < 10000; ++i) drawn += SamplePoint(space, random).space;
  EXPECT_GT(drawn, 10);  // 3 of 1003
}

TEST(EvolveTest, FindsGoodConfigsInATrillionAndLooksAtFew) {
  const Searched evolved = SearchHuge("evolve", 160);
  EXPECT_LT(evolved.best, 1.25);
  EXPECT_LT(evolved.max_looks, 8000);
  const Searched chance = SearchHuge("random", 160);
  EXPECT_GT(chance.best, evolved.best + 0.2);
  EXPECT_LT(SearchHuge("auto", 160).best, 1.25);
}

/// Analyzer that rejects everything except one corner of a space: random sampling never finds
/// another legal config.
class CornerAnalyzer final : public StaticAnalyzer {
 public:
  Status Check(Point point) const override {
    for (std::int64_t digit : DigitsOf(point.index)) {
      if (digit > 1) return InvalidArgument("outside of the corner");
    }
    return {};
  }
  Status Features(Point point, std::span<float> out) const override {
    std::ranges::fill(out, 0.0F);
    return Check(point);
  }
};

TEST(EvolveTest, GoesOnWhereNearlyNothingIsLegal) {
  const SearchSpace space = HugeSpace();
  const CornerAnalyzer analyzer;
  for (const char* key : {"evolve", "random"}) {
    StrategyContext context = MadeContext(space, analyzer, 1);
    context.first = {{0, 0}};  // 4096 of 10^12 are legal; one is known
    auto strategy = BuiltInStrategies().Find(key)->make(context);
    EXPECT_EQ(strategy->Ask(8).size(), 8U) << key;
  }
}

TEST(AutomaticTest, ChoosesByWhatTheDeviceDeclaresAndTheSizeOfTheSpace) {
  SearchSpace space = MadeSpace();
  EXPECT_EQ(ChoiceOf(space), "model");
  EXPECT_EQ(ChoiceOf(HugeSpace()), "evolve");
  space.task.target = *Target::Parse("vta -model=sim_1x16_i8w8a32_15_15_18_17");
  EXPECT_EQ(ChoiceOf(space), "evolve");
}

}  // namespace
}  // namespace tilewright::search
