#include "search/strategies/model_guided.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "search/registry.h"
#include "tests/strategy/synthetic.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

/// Contract that every strategy of the table has to keep.
class StrategyTest : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Strategy> Make(const SearchSpace& space, const StaticAnalyzer& analyzer,
                                 std::uint64_t seed = 1) {
    return BuiltInStrategies().Find(GetParam())->make(MadeContext(space, analyzer, seed));
  }
};

TEST_P(StrategyTest, ProposesEveryLegalPointOnceAndThenNoMore) {
  const SearchSpace space = MadeSpace();
  const FakeAnalyzer analyzer(space, 7);
  auto strategy = Make(space, analyzer);
  EXPECT_EQ(strategy->name(), GetParam());
  std::set<Point> seen;
  for (int round = 0; round < 200; ++round) {
    const std::vector<Point> points = strategy->Ask(9);
    for (Point point : points) {
      EXPECT_TRUE(seen.insert(point).second) << point.space << ":" << point.index;
      EXPECT_TRUE(analyzer.Check(point).ok());
    }
    strategy->Tell(Results(space, points));
    if (round % 8 == 0) LearnNow(*strategy);
    if (points.empty()) break;
  }
  EXPECT_EQ(seen.size(), 600u + 10u);
  EXPECT_TRUE(strategy->Ask(5).empty());
  EXPECT_GT(strategy->filtered(), 0);
}

TEST_P(StrategyTest, BeginsWithTheDefaults) {
  const SearchSpace space = MadeSpace();
  const FakeAnalyzer analyzer(space);
  EXPECT_EQ(Make(space, analyzer)->Ask(4)[0], (Point{0, 0}));
}

TEST_P(StrategyTest, SameSeedSameProposals) {
  const SearchSpace space = MadeSpace(20);
  const FakeAnalyzer analyzer(space, 5);
  auto a = Make(space, analyzer, 3);
  auto b = Make(space, analyzer, 3);
  auto other = Make(space, analyzer, 4);
  bool differs = false;
  for (int round = 0; round < 8; ++round) {
    const std::vector<Point> points = a->Ask(8);
    EXPECT_EQ(points, b->Ask(8)) << "round " << round;
    differs = differs || points != other->Ask(8);
    for (Strategy* one : {a.get(), b.get()}) {
      one->Tell(Results(space, points));
      LearnNow(*one);
    }
  }
  EXPECT_EQ(differs, GetParam() != "grid");
}

TEST_P(StrategyTest, ReplayedItGoesOnAsIfItHadNotStopped) {
  const SearchSpace space = MadeSpace(20);
  const FakeAnalyzer analyzer(space, 5);
  for (int stop : {0, 3, 6, 9}) {
    auto whole = Make(space, analyzer);
    auto resumed = Make(space, analyzer);
    std::vector<std::vector<Point>> batches;
    for (int round = 0; round < 10; ++round) {
      // Results arrive two batches late, as in the pipeline.
      const auto late = round >= 2 ? Results(space, batches[static_cast<std::size_t>(round - 2)])
                                   : std::vector<Observation>();
      whole->Tell(late);
      LearnNow(*whole);
      batches.push_back(whole->Ask(8));
      resumed->Tell(late);
      if (round <= stop) {
        ASSERT_TRUE(resumed->ReplayAsk(batches.back(), whole->SaveState()).ok());
        if (round == stop) {
          ASSERT_TRUE(resumed->FinishReplay().ok());
        }
      } else {
        LearnNow(*resumed);
        ASSERT_EQ(resumed->Ask(8), batches.back()) << "stopped after " << stop << ", " << round;
        EXPECT_EQ(resumed->SaveState(), whole->SaveState());
      }
    }
  }
}

TEST_P(StrategyTest, RefusesAMemoThatIsNotItsOwn) {
  const SearchSpace space = MadeSpace();
  const FakeAnalyzer analyzer(space);
  EXPECT_EQ(Make(space, analyzer)->ReplayAsk({}, "nonsense").message(),
            "search log: strategy state \"nonsense\", expected an object with \"filtered\"");
}

TEST_P(StrategyTest, FindsTheOptimumOfASmoothSpace) {
  const SearchSpace space = MadeSpace();
  const FakeAnalyzer analyzer(space);
  double best_of_all = 1;
  for (std::int64_t i = 0; i < space.spaces[0].size(); ++i) {
    best_of_all = std::min(best_of_all, MadeSeconds(space, {0, i}));
  }
  // Number of trials within which the best config is at most 2 % from the optimum (random search
  // needs most).
  const bool learns = GetParam() == "model" || GetParam() == "evolve" || GetParam() == "auto" ||
                      GetParam() == "surrogate";
  const int trials = learns ? 96 : GetParam() == "genetic" ? 240 : 710;
  auto strategy = Make(space, analyzer);
  double best = 1;
  for (int observed = 0; observed < trials;) {
    const std::vector<Point> points = strategy->Ask(8);
    if (points.empty()) break;
    const std::vector<Observation> results = Results(space, points);
    for (const Observation& result : results) best = std::min(best, result.value);
    strategy->Tell(results);
    LearnNow(*strategy);
    observed += static_cast<int>(points.size());
  }
  EXPECT_LE(best, best_of_all * 1.02);
}

TEST_P(StrategyTest, SurvivesATaskOnWhichEverythingFails) {
  const SearchSpace space = MadeSpace();
  const FakeAnalyzer analyzer(space);
  auto strategy = Make(space, analyzer);
  for (int round = 0; round < 6; ++round) {
    const std::vector<Point> points = strategy->Ask(8);
    EXPECT_EQ(points.size(), 8u);
    std::vector<Observation> results;
    for (Point point : points) results.push_back({point, Outcome::kRunFailed, 0});
    strategy->Tell(results);
    LearnNow(*strategy);
  }
}

INSTANTIATE_TEST_SUITE_P(All, StrategyTest, testing::ValuesIn([] {
                           std::vector<std::string> keys;
                           for (const auto& entry : BuiltInStrategies().all())
                             keys.emplace_back(entry.key);
                           return keys;
                         }()),
                         [](const auto& tested) { return tested.param; });

TEST(StrategiesTest, AreFoundByKey) {
  EXPECT_NE(BuiltInStrategies().Find("model"), nullptr);
  EXPECT_EQ(BuiltInStrategies().Find("bogus"), nullptr);
}

double BestAfter(const char* key, std::uint64_t seed, int trials) {
  const SearchSpace space = MadeSpace(40);
  const FakeAnalyzer analyzer(space, 9);
  auto strategy = BuiltInStrategies().Find(key)->make(MadeContext(space, analyzer, seed));
  double best = 1;
  for (int observed = 0; observed < trials; observed += 8) {
    const std::vector<Observation> results = Results(space, strategy->Ask(8));
    for (const Observation& result : results) best = std::min(best, result.value);
    strategy->Tell(results);
    LearnNow(*strategy);
  }
  return best;
}

TEST(ModelGuidedTest, IsAheadOfChance) {
  std::vector<double> guided, chance;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    guided.push_back(BestAfter("model", seed, 64));
    chance.push_back(BestAfter("random", seed, 64));
  }
  std::sort(guided.begin(), guided.end());
  std::sort(chance.begin(), chance.end());
  EXPECT_LT(guided[2], chance[2]);
}

TEST(ModelGuidedTest, LearnsFromOtherTasksBeforeItHasTrials) {
  const SearchSpace space = MadeSpace(40);
  const FakeAnalyzer analyzer(space);
  StrategyContext context = MadeContext(space, analyzer, 1);
  WarmGroup group;
  group.analyzer = &analyzer;
  Random random(5);
  for (int i = 0; i < 64; ++i) {
    const Point point = SamplePoint(space, random);
    group.trials.push_back({point, Outcome::kOk, 7 * MadeSeconds(space, point)});
  }
  context.warm = {group};
  auto warm = BuiltInStrategies().Find("model")->make(context);
  LearnNow(*warm);
  auto cold = BuiltInStrategies().Find("model")->make(MadeContext(space, analyzer, 1));
  LearnNow(*cold);
  const auto median = [&](Strategy& strategy) {
    std::vector<double> seconds;
    for (const Observation& observed : Results(space, strategy.Ask(17)))
      seconds.push_back(observed.value);
    std::sort(seconds.begin(), seconds.end());
    return seconds[8];
  };
  EXPECT_LT(median(*warm), 0.85 * median(*cold));
}

TEST(ModelGuidedTest, DatasetHasOneGroupPerTaskAndForgetsTheOthersInTime) {
  const SearchSpace space = MadeSpace();
  const FakeAnalyzer analyzer(space, 7);
  WarmGroup group;
  group.analyzer = &analyzer;
  for (std::int64_t i = 0; i < 20; ++i) {
    group.trials.push_back({{0, i}, Outcome::kOk, 1e-3 * static_cast<double>(i + 1)});
  }
  std::vector<Observation> own = {{{1, 0}, Outcome::kOk, 2e-3},
                                  {{1, 1}, Outcome::kOk, 4e-3},
                                  {{1, 2}, Outcome::kWrongResult, 0}};
  const auto data = MakeDataset(analyzer, own, {group});
  EXPECT_THAT(data.group_sizes, testing::ElementsAre(18u, 3u));  // 6 and 13 are rejected
  EXPECT_FLOAT_EQ(data.scores[18], 1.0f);
  EXPECT_FLOAT_EQ(data.scores[19], 0.5f);
  EXPECT_FLOAT_EQ(data.scores[20], 0.0f);
  EXPECT_EQ(data.features.size(), 21 * static_cast<std::size_t>(cost_model::FeatureCount()));
  while (own.size() < 96) own.push_back({{0, 0}, Outcome::kOk, 3e-3});
  EXPECT_EQ(MakeDataset(analyzer, own, {group}).group_sizes.size(), 1u);
}

}  // namespace
}  // namespace tilewright::search
