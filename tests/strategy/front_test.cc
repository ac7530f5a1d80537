// Searches for a Pareto front, replayed on recorded spaces of the VTA. bench/front_bench runs them
// with many seeds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cost_model/xgboost_model.h"
#include "search/recorded/recorded_space.h"
#include "search/registry.h"
#include "search/strategies/fronts.h"
#include "src/space/pareto_front.h"
#include "tests/support/built_in.h"
#include "tests/support/built_in_strategies.h"
#include "tests/support/two_recorded_spaces.h"

namespace tilewright::search {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kFrontBatch = 8;

TEST(FrontTest, HoldsWhatNothingElseBeats) {
  const std::vector<std::vector<double>> rows = {{3, 1}, {1, 3}, {2, 2}, {2, 3}, {2, 2}, {3, 3}};
  EXPECT_THAT(ParetoFront(rows), ElementsAre(1, 2, 0));
  EXPECT_TRUE(Dominates(rows[2], rows[3]));
  EXPECT_FALSE(Dominates(rows[2], rows[4]));
  EXPECT_FALSE(Dominates(rows[0], rows[2]));
  EXPECT_THAT(ParetoFront({}), ElementsAre());
}

TEST(FrontTest, DirectionsWeighEachMetricAndAllOfThem) {
  EXPECT_THAT(FrontDirections(2),
              ElementsAre(ElementsAre(1, 0), ElementsAre(0.75, 0.25), ElementsAre(0, 1),
                          ElementsAre(0.25, 0.75), ElementsAre(0.5, 0.5)));
  EXPECT_EQ(FrontDirections(3).size(), 7U);
  EXPECT_DOUBLE_EQ(WeightedValue(std::vector<double>{4, 9}, std::vector<double>{0.5, 0.5}), 6);
  EXPECT_DOUBLE_EQ(WeightedValue(std::vector<double>{4, 9}, std::vector<double>{1, 0}), 4);
}

class VtaFrontTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto two =
        LoadTwo(std::string(TILEWRIGHT_SOURCE_DIR "/bench/landscapes/vta/vta_") + GetParam());
    ASSERT_TRUE(two.ok()) << two.status().message();
    two_ = *std::move(two);
    auto space = two_.first.Space(BuiltInTemplates());
    ASSERT_TRUE(space.ok()) << space.status().message();
    space_ = *std::move(space);
    analyzer_ = std::make_unique<RecordedSpaceAnalyzer>(two_.first, space_);
  }
  std::unique_ptr<Strategy> Make(const char* key) const {
    StrategyContext context;
    context.space = &space_;
    context.analyzer = analyzer_.get();
    context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
    return MakeFrontSearch(*BuiltInStrategies().Find(key), context, {"cycles", "dram_bytes"});
  }
  std::vector<Observation> Measure(const std::vector<Point>& points) const {
    std::vector<Observation> batch;
    for (const Point point : points) batch.push_back(two_.At(point));
    return batch;
  }

  TwoRecordedSpaces two_;
  SearchSpace space_;
  std::unique_ptr<RecordedSpaceAnalyzer> analyzer_;
};

TEST_P(VtaFrontTest, TheFrontIsThatOfTheWholeSpace) {
  constexpr int kTrials = 128;
  const auto strategy = Make("evolve");
  std::vector<std::vector<double>> rows;
  std::set<Point> seen;
  for (int trials = 0; trials < kTrials; trials += kFrontBatch) {
    const std::vector<Point> points = strategy->Ask(kFrontBatch);
    const std::vector<Observation> batch = Measure(points);
    for (const Observation& observed : batch) {
      EXPECT_TRUE(seen.insert(observed.point).second) << "proposed twice";
      rows.push_back(observed.values);
    }
    strategy->Tell(batch);
  }
  EXPECT_EQ(TwoRecordedSpaces::FrontRows(rows), two_.Exhaustive());
}
INSTANTIATE_TEST_SUITE_P(Resnet18, VtaFrontTest,
                         testing::Values("1x1_14_stride", "1x1_28_stride", "1x1_56_stride",
                                         "3x3_14", "3x3_14_stride", "3x3_28", "3x3_28_stride",
                                         "3x3_56", "3x3_56_stride", "3x3_7"),
                         [](const auto& tested) { return std::string(tested.param); });

using VtaFrontReplayTest = VtaFrontTest;

// Every strategy, including those that train, continues after a replay as without it.
TEST_P(VtaFrontReplayTest, AReplayLeadsToTheSameProposals) {
  for (const char* key : {"evolve", "model", "random"}) {
    const auto whole = Make(key), replayed = Make(key);
    std::vector<Observation> unobserved;
    for (int asks = 0; asks < 9; ++asks) {
      // One batch is in progress while the next is requested.
      const std::vector<Observation> results = std::exchange(unobserved, {});
      for (Strategy* strategy : {whole.get(), replayed.get()}) strategy->Tell(results);
      const bool live = asks >= 7;
      if (asks == 7) {
        ASSERT_TRUE(replayed->FinishReplay().ok());
      }
      if (auto training_job = whole->NextTrainingJob(); training_job != nullptr && !live) {
        ASSERT_TRUE(training_job->Run().ok());
        whole->Finish(std::move(training_job));
      }
      const std::vector<Point> points = whole->Ask(kFrontBatch);
      if (live) {
        EXPECT_EQ(replayed->Ask(kFrontBatch), points) << key << " " << asks;
      } else {
        ASSERT_TRUE(replayed->ReplayAsk(points, whole->SaveState()).ok());
      }
      unobserved = Measure(points);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Resnet18, VtaFrontReplayTest, testing::Values("3x3_28"));

TEST_P(VtaFrontReplayTest, AMemoOfAnotherStrategyIsRefused) {
  const auto strategy = Make("evolve");
  for (const char* strategy_state :
       {"{\"filtered\":3}", "{\"turn\":9,\"asks\":1,\"memo\":{}}", "[]",
        "{\"turn\":1,\"asks\":99,\"memo\":{}}", "{\"turn\":1,\"asks\":1}"}) {
    const Status status = strategy->ReplayAsk({}, strategy_state);
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << strategy_state;
    EXPECT_THAT(status.message(), HasSubstr("strategy state")) << strategy_state;
  }
}

// If a space is smaller than the requested number of points, it is proposed completely, each config
// once.
TEST_P(VtaFrontReplayTest, ASmallSpaceIsExhausted) {
  for (const char* key : {"evolve", "grid", "genetic"}) {
    const auto strategy = Make(key);
    std::set<Point> seen;
    while (true) {
      const std::vector<Point> points = strategy->Ask(kFrontBatch);
      if (points.empty()) break;
      for (const Point point : points) EXPECT_TRUE(seen.insert(point).second) << key;
      strategy->Tell(Measure(points));
    }
    EXPECT_EQ(seen.size(), two_.first.rows.size()) << key;
  }
}

}  // namespace
}  // namespace tilewright::search
