#include "search/open/open_search_space.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cost_model/xgboost_model.h"
#include "search/space.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

Parameter Powers(std::string name, int count) {
  Parameter parameter;
  parameter.name = std::move(name);
  for (int i = 0; i < count; ++i) parameter.values.emplace_back(std::int64_t{1} << i);
  return parameter;
}

/// 2.7e8 combinations, of which one in 3,000 is allowed.
OpenSpace Tiled() {
  std::vector<Parameter> parameters;
  for (const char* name : {"m", "n", "k", "tm", "tn", "tk", "u"}) {
    parameters.push_back(Powers(name, 16));
  }
  auto space = OpenSpace::Create("tiled", parameters,
                                 {"m % tm == 0", "n % tn == 0", "k % tk == 0", "m * n <= 4096",
                                  "tm * tn == 16", "m * k + k * n <= 8192", "u <= tk"});
  EXPECT_TRUE(space.ok()) << space.status().message();
  return std::move(*space);
}

/// Slow-down with one best config: m = 64, n = 32, k = 16, tm = 8, tn = 2, tk = 4, u = 2.
double SecondsOf(const OpenConfig& config) {
  const int best[] = {6, 5, 4, 3, 1, 2, 1};
  double slow = 0;
  for (std::size_t p = 0; p < config.size(); ++p) {
    slow += 0.1 * std::pow(config[p] - best[p], 2);
  }
  return 1 + slow;
}

double BestAfter(const OpenSearchSpace& space, const char* strategy, int trials) {
  StrategyContext context;
  context.space = &space.space();
  context.analyzer = &space;
  context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
  const auto search = BuiltInStrategies().Find(strategy)->make(context);
  std::set<Point> seen;
  double best = 1e9;
  while (static_cast<int>(seen.size()) < trials) {
    std::vector<Observation> results;
    for (Point point : search->Ask(4)) {
      EXPECT_TRUE(space.Check(point).ok()) << strategy;
      EXPECT_TRUE(seen.insert(point).second) << strategy;
      results.push_back({point, Outcome::kOk, SecondsOf(space.ConfigOf(point))});
      best = std::min(best, results.back().value);
    }
    if (results.empty()) break;
    search->Tell(results);
    if (auto job = search->NextTrainingJob(); job != nullptr && job->Run().ok()) {
      search->Finish(std::move(job));
    }
  }
  return best;
}

/// Counts the points that a strategy checks.
class CountingAnalyzer final : public StaticAnalyzer {
 public:
  explicit CountingAnalyzer(const OpenSearchSpace& space) : space_(space) {}
  Status Check(Point point) const override {
    ++checked;
    return space_.Check(point);
  }
  Status Features(Point point, std::span<float> out) const override {
    return space_.Features(point, out);
  }
  mutable int checked = 0;

 private:
  const OpenSearchSpace& space_;
};

TEST(OpenSearchSpaceTest, AnEntangledSpaceThatIsExhaustedIsNotSearchedAgain) {
  std::vector<Parameter> parameters;
  std::string sum = "0";
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) {
    Parameter parameter;
    parameter.name = name;
    for (std::int64_t v = 0; v < 40; ++v) parameter.values.emplace_back(v * v * 7919 + v);
    parameters.push_back(std::move(parameter));
    sum = "(" + sum + " * 31 + " + name + ") % 1000003";
  }
  auto open = OpenSpace::Create("entangled", parameters, {sum + " % 15000 == 3"});
  ASSERT_TRUE(open.ok()) << open.status().message();
  const OpenSearchSpace space(*std::move(open));
  const CountingAnalyzer analyzer(space);
  StrategyContext context;
  context.space = &space.space();
  context.analyzer = &analyzer;
  const auto search = BuiltInStrategies().Find("random")->make(context);
  int asked = 0;
  while (!search->Ask(1).empty()) ASSERT_LT(++asked, 200);
  EXPECT_GE(asked, 1);
  analyzer.checked = 0;
  EXPECT_TRUE(search->Ask(1).empty());
  EXPECT_EQ(analyzer.checked, 0);
}

TEST(OpenSearchSpaceTest, EveryStrategySearchesAConstrainedSpace) {
  const OpenSearchSpace space(Tiled());
  EXPECT_GT(space.open().combinations(), 200'000'000);
  EXPECT_LT(space.size() * 1000, space.open().combinations());
  for (const char* strategy : {"random", "genetic", "evolve"}) {
    EXPECT_LT(BestAfter(space, strategy, 24), 20) << strategy;
  }
  EXPECT_LE(BestAfter(space, "surrogate", 64), 1.3);
}

TEST(OpenSearchSpaceTest, WalksAlongItsConditions) {
  const OpenSearchSpace space(Tiled());
  Random random(2);
  Point point = space.Sample(random);
  std::set<Point> seen;
  for (int i = 0; i < 200; ++i) {
    const Point next = space.Mutate(point, random);
    ASSERT_TRUE(space.Contains(next));
    seen.insert(next);
    for (Point neighbour : space.Neighbours(next)) EXPECT_TRUE(space.Contains(neighbour));
    point = next;
  }
  EXPECT_GT(seen.size(), 150U);
  EXPECT_FALSE(space.Contains({0, -1}));
  EXPECT_FALSE(space.Contains({0, space.open().combinations()}));
  EXPECT_EQ(space.Check({0, 0}).message(), "condition not fulfilled: tm * tn == 16");
}

TEST(OpenSearchSpaceTest, BeginsWithTheDefaults) {
  std::vector<Parameter> parameters = {Powers("a", 4), Powers("b", 4)};
  parameters[0].default_value = ParameterValue(std::int64_t{4});
  auto open = OpenSpace::Create("", parameters, {"a >= b"});
  ASSERT_TRUE(open.ok());
  const OpenSearchSpace space(std::move(*open));
  EXPECT_EQ(space.List(100).size(), 10U);
  EXPECT_TRUE(space.List(9).empty());
  StrategyContext context;
  context.space = &space.space();
  context.analyzer = &space;
  const auto search = BuiltInStrategies().Find("auto")->make(context);
  EXPECT_EQ(search->Ask(1), (std::vector<Point>{space.PointOf({2, 0})}));
}

}  // namespace
}  // namespace tilewright::search
