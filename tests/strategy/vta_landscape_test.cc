// Searches replayed on spaces of the VTA that were measured as a whole. bench/strategy_bench does
// all of them, with many seeds.

#include <gtest/gtest.h>

#include "cost_model/xgboost_model.h"
#include "search/recorded/landscape.h"
#include "search/registry.h"
#include "tests/support/built_in.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

constexpr int kBatch = 8;
constexpr int kTrials = 64;

class VtaLandscapeTest : public testing::TestWithParam<const char*> {};

TEST_P(VtaLandscapeTest, ModelFindsTheOptimumInTime) {
  const std::string path =
      std::string(TILEWRIGHT_SOURCE_DIR "/bench/landscapes/vta/vta_") + GetParam() + ".csv";
  const auto landscape = Landscape::Load(path);
  ASSERT_TRUE(landscape.ok()) << landscape.status().message();
  EXPECT_NE(landscape->metric, "seconds");
  const auto space = landscape->Space(BuiltInTemplates());
  ASSERT_TRUE(space.ok()) << space.status().message();
  const LandscapeInspector inspector(*landscape, *space);
  StrategyContext context;
  context.space = &*space;
  context.inspector = &inspector;
  context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
  const auto strategy = BuiltInStrategies().Find("model")->make(context);
  double best = 0;
  for (int trials = 0; trials < kTrials; trials += kBatch) {
    std::vector<Told> batch;
    for (Point point : strategy->Ask(kBatch)) {
      const Landscape::Row* row = landscape->Find(point);
      ASSERT_NE(row, nullptr);
      batch.push_back({point, row->outcome, row->value});
      if (best == 0 || row->value < best) best = row->value;
    }
    strategy->Tell(batch);
    if (auto lesson = strategy->NextLesson()) {
      ASSERT_TRUE(lesson->Run().ok());
      strategy->Finish(std::move(lesson));
    }
  }
  EXPECT_EQ(best, landscape->best_value());
}
INSTANTIATE_TEST_SUITE_P(Resnet18, VtaLandscapeTest,
                         testing::Values("3x3_14_cycles", "3x3_28_stride_cycles",
                                         "1x1_14_stride_dram_bytes", "3x3_7_dram_bytes"),
                         [](const auto& tested) { return std::string(tested.param); });

// The legality checks of today refuse what they refused when it was recorded, and nothing else.
TEST(VtaLandscapeTest, HoldsExactlyTheLegalConfigs) {
  const auto landscape =
      Landscape::Load(TILEWRIGHT_SOURCE_DIR "/bench/landscapes/vta/vta_3x3_7_cycles.csv");
  ASSERT_TRUE(landscape.ok()) << landscape.status().message();
  EXPECT_EQ(landscape->rows.size(), 40u);
  const auto space = landscape->Space(BuiltInTemplates());
  ASSERT_TRUE(space.ok()) << space.status().message();
  const TemplateInspector inspector(*space);
  for (std::int64_t index = 0; index < space->spaces[0].size(); ++index) {
    const Point point{0, index};
    EXPECT_EQ(inspector.Check(point).ok(), landscape->Find(point) != nullptr) << index;
  }
}

}  // namespace
}  // namespace tilewright::search
