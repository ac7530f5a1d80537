#include "search/zero_shot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cost_model/tree_model.h"
#include "search/space.h"
#include "src/base/files/file.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright::search {
namespace {

using cost_model::TreeModel;

Task DenseTask(const char* dtype = "float32") {
  const std::string type = dtype;
  return {*Workload::Parse("dense(" + type + "[1,512]MK," + type + "[1000,512]NK)->" +
                           (type == "int8" ? "int32" : type)),
          *Target::Parse("llvm -mcpu=haswell")};
}

/// Model that scores `gain` more for candidates with two or more unrolled iterations.
TreeModel Unroller(float gain) {
  const auto& names = cost_model::FeatureNames();
  const auto unrolled = static_cast<std::int32_t>(
      std::ranges::find(names, std::string("main.unrolled")) - names.begin());
  return TreeModel(0, {{{unrolled, 2, 1.2F}, {-1, 0, gain}, {-1, 0, 0}}},
                   {1.25, "llvm", {"dense/float32/avx2"}, "a test"});
}

TEST(ZeroShotTest, TiesGoToTheDefaultConfig) {
  const Task task = DenseTask();
  const TemplateEntry* preferred = BuiltInTemplates().For(task.workload, task.target).front();
  const Config standard = *preferred->default_config(task.workload, task.target);
  const auto slight = PredictConfig(BuiltInTemplates(), task, {}, Unroller(0.1F));
  ASSERT_TRUE(slight.ok()) << slight.status().message();
  EXPECT_EQ(slight->template_key, preferred->key);
  EXPECT_EQ(slight->config.values, standard.values);
  const auto clear = PredictConfig(BuiltInTemplates(), task, {}, Unroller(5));
  ASSERT_TRUE(clear.ok()) << clear.status().message();
  EXPECT_NE(clear->config, slight->config);
  EXPECT_EQ(PredictConfig(BuiltInTemplates(), task, {}, Unroller(5))->config, clear->config)
      << "the same every time";
}

/// The model prefers loops without parallel execution.
TEST(ZeroShotTest, KeepsThreadsAsBusyAsTheDefaultConfigDoes) {
  const auto& names = cost_model::FeatureNames();
  const auto parallel = static_cast<std::int32_t>(
      std::ranges::find(names, std::string("main.parallel")) - names.begin());
  ASSERT_LT(parallel, std::ssize(names));
  const TreeModel model(0, {{{parallel, 2, 1.2F}, {-1, 0, 0}, {-1, 0, 9}}},
                        {1.25, "llvm", {"conv2d/float32/avx2"}, "a test"});
  const Task task{*Workload::Parse("conv2d(float32[1,32,64,64]NCHW,float32[16,32,3,3]OIHW,s1x1,"
                                   "p1x1x1x1,d1x1,g1)->float32"),
                  *Target::Parse("llvm -mcpu=haswell -num-threads=2")};
  const auto space = MakeSearchSpace(BuiltInTemplates(), task, {});
  ASSERT_TRUE(space.ok()) << space.status().message();
  const TemplateAnalyzer analyzer(*space);
  const auto point = PredictPoint(*space, analyzer, model);
  ASSERT_TRUE(point.ok()) << point.status().message();
  EXPECT_GT(analyzer.ThreadUtilization(*point), 0.9);
}

/// The model prefers tiles of one row, which read all weights once for each row.
TEST(ZeroShotTest, ReadsWeightsOfThinProductsOnce) {
  const auto& names = cost_model::FeatureNames();
  const auto unrolled = static_cast<std::int32_t>(
      std::ranges::find(names, std::string("main.unrolled")) - names.begin());
  const Task task{*Workload::Parse("dense(float32[4,4096]MK,float32[4096,4096]NK)->float32"),
                  *Target::Parse("llvm -mcpu=skylake-avx512")};
  const auto space = MakeSearchSpace(BuiltInTemplates(), task, {});
  ASSERT_TRUE(space.ok()) << space.status().message();
  const TemplateAnalyzer analyzer(*space);
  for (const float gain : {9.0F, -9.0F}) {
    const TreeModel model(0, {{{unrolled, 2, 4.0F}, {-1, 0, gain}, {-1, 0, 0}}},
                          {1.25, "llvm", {"dense/float32/avx512"}, "a test"});
    const auto point = PredictPoint(*space, analyzer, model);
    ASSERT_TRUE(point.ok()) << point.status().message();
    const Config config = space->spaces[static_cast<std::size_t>(point->space)].At(point->index);
    const char* tile = config.Find("tile_y") != nullptr ? "tile_y" : "register_tile";
    const auto& factors = config.Factors(tile);
    EXPECT_EQ(tile[0] == 't' ? factors.back() : factors[0], 4) << config.ToString();
    EXPECT_LE(analyzer.CacheMissBytes(*point), 0.8);
  }
}

TEST(ZeroShotTest, ChooserSaysThatItWasTrainedWithoutVectors) {
  auto folder = ScopedTempDir::Create("tw_guess");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/m";
  const TreeModel model(0, {{{0, 2, 4.0F}, {-1, 0, 1}, {-1, 0, 0}}},
                        {1.25, "llvm", {"dense/float32/avx2", "conv2d/float32"}, "a test"});
  ASSERT_TRUE(model.Save(path).ok());
  const auto chooser = LoadChooser(BuiltInTemplates(), path);
  EXPECT_EQ(chooser.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(chooser.status().message(),
              testing::HasSubstr("conv2d/float32, without a vector extension; train it"));
}

TEST(ZeroShotTest, ChooserKeepsToWhatItLearnedFrom) {
  auto folder = ScopedTempDir::Create("tw_guess");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(Unroller(5).Save(folder->path() + "/m").ok());
  const auto chooser = LoadChooser(BuiltInTemplates(), folder->path() + "/m");
  ASSERT_TRUE(chooser.ok()) << chooser.status().message();
  const Task task = DenseTask();
  const auto choice = (*chooser)->Choose(task.workload, task.target);
  ASSERT_TRUE(choice.ok() && choice->has_value());
  EXPECT_DOUBLE_EQ((*choice)->expected_slowdown, 1.25);
  EXPECT_THAT((*choice)->explanation, testing::HasSubstr("a test"));
  EXPECT_FALSE((*chooser)->Choose(DenseTask("int8").workload, task.target)->has_value());
  EXPECT_FALSE((*chooser)->Choose(task.workload, *Target::Parse("cuda"))->has_value());
  for (const char* other : {"llvm -mcpu=skylake-avx512", "llvm -mcpu=nehalem",
                            "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"}) {
    EXPECT_FALSE((*chooser)->Choose(task.workload, *Target::Parse(other))->has_value()) << other;
  }
}

TEST(ZeroShotTest, FamiliesTellProcessorsThatSplitVectors) {
  const Workload dense = DenseTask().workload;
  EXPECT_EQ(FamilyOf({dense, *Target::Parse("llvm -mcpu=znver5")}), "dense/float32/avx512");
  EXPECT_EQ(FamilyOf({dense, *Target::Parse("llvm -mcpu=znver4")}), "dense/float32/avx512_halves");
  // No model that learned without tile registers chooses between them and vectors.
  const Target tiles = *Target::Parse("llvm -mcpu=sapphirerapids");
  EXPECT_EQ(FamilyOf({dense, tiles}), "dense/float32/avx512");
  EXPECT_EQ(FamilyOf({DenseTask("int8").workload, tiles}), "dense/int8/amx");
}

}  // namespace
}  // namespace tilewright::search
