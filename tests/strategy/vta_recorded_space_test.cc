// Searches replayed on recorded spaces of the VTA. bench/strategy_bench runs all of them with many
// seeds.

#include <gtest/gtest.h>

#include "cost_model/xgboost_model.h"
#include "search/recorded/recorded_space.h"
#include "search/registry.h"
#include "tests/support/built_in.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

constexpr int kBatch = 8;
constexpr int kTrials = 64;

class VtaRecordedSpaceTest : public testing::TestWithParam<const char*> {};

TEST_P(VtaRecordedSpaceTest, ModelFindsTheOptimumInTime) {
  const std::string path =
      std::string(TILEWRIGHT_SOURCE_DIR "/bench/landscapes/vta/vta_") + GetParam() + ".csv";
  const auto recorded_space = RecordedSpace::Load(path);
  ASSERT_TRUE(recorded_space.ok()) << recorded_space.status().message();
  EXPECT_NE(recorded_space->metric, "seconds");
  const auto space = recorded_space->Space(BuiltInTemplates());
  ASSERT_TRUE(space.ok()) << space.status().message();
  const RecordedSpaceAnalyzer analyzer(*recorded_space, *space);
  StrategyContext context;
  context.space = &*space;
  context.analyzer = &analyzer;
  context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
  const auto strategy = BuiltInStrategies().Find("model")->make(context);
  double best = 0;
  for (int trials = 0; trials < kTrials; trials += kBatch) {
    std::vector<Observation> batch;
    for (Point point : strategy->Ask(kBatch)) {
      const RecordedSpace::Row* row = recorded_space->Find(point);
      ASSERT_NE(row, nullptr);
      batch.push_back({point, row->outcome, row->value});
      if (best == 0 || row->value < best) best = row->value;
    }
    strategy->Tell(batch);
    if (auto training_job = strategy->NextTrainingJob()) {
      ASSERT_TRUE(training_job->Run().ok());
      strategy->Finish(std::move(training_job));
    }
  }
  EXPECT_EQ(best, recorded_space->best_value());
}
INSTANTIATE_TEST_SUITE_P(Resnet18, VtaRecordedSpaceTest,
                         testing::Values("3x3_14_cycles", "3x3_28_stride_cycles",
                                         "1x1_14_stride_dram_bytes", "3x3_7_dram_bytes"),
                         [](const auto& tested) { return std::string(tested.param); });

// The legality checks reject exactly the configs that they rejected at recording time.
TEST(VtaRecordedSpaceTest, HoldsExactlyTheLegalConfigs) {
  const auto recorded_space =
      RecordedSpace::Load(TILEWRIGHT_SOURCE_DIR "/bench/landscapes/vta/vta_3x3_7_cycles.csv");
  ASSERT_TRUE(recorded_space.ok()) << recorded_space.status().message();
  EXPECT_EQ(recorded_space->rows.size(), 40u);
  const auto space = recorded_space->Space(BuiltInTemplates());
  ASSERT_TRUE(space.ok()) << space.status().message();
  const TemplateAnalyzer analyzer(*space);
  for (std::int64_t index = 0; index < space->spaces[0].size(); ++index) {
    const Point point{0, index};
    EXPECT_EQ(analyzer.Check(point).ok(), recorded_space->Find(point) != nullptr) << index;
  }
}

}  // namespace
}  // namespace tilewright::search
