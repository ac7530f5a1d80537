#include "cost_model/gpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cost_model/cost_model.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright::cost_model {
namespace {

TEST(GpuFeaturesTest, NamesAreUniqueAndFitTheRow) {
  std::vector<std::string> names = GpuFeatureNames();
  EXPECT_LE(names.size(), static_cast<std::size_t>(FeatureCount()));
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

/// Returns one block of 32 threads that each load once, `stride` elements apart, from global or
/// shared memory.
LoopSummary Loads(Scope scope, std::int64_t stride) {
  SummaryStage stage;
  stage.loops = {{32, LoopKind::kThreadX, false}};
  stage.arithmetic_ops = 1;
  SummaryAccess access;
  access.dtype = kFloat32;
  access.scope = scope;
  access.strides = {stride};
  access.footprint_bytes = {32 * 4, 4};
  access.thread_steps = {{0, 1, 32, stride}};
  stage.accesses = {access};
  return LoopSummary{{stage}};
}

TEST(GpuFeaturesTest, CoalescingCountsTheSectorsOfAWarp) {
  const auto moved = [](std::int64_t stride) {
    return ProfileLaunch(Loads(Scope::kGlobal, stride), {}).sector_bytes;
  };
  EXPECT_EQ(moved(1), 128);
  EXPECT_EQ(moved(2), 256);
  EXPECT_EQ(moved(8), 1024) << "a sector for each thread";
  EXPECT_EQ(moved(100), 1024);
  EXPECT_EQ(moved(0), 32) << "the same word for all";
  EXPECT_EQ(ProfileLaunch(Loads(Scope::kGlobal, 8), {}).global_bytes, 128);
}

TEST(GpuFeaturesTest, BankConflictsCountTheWordsOfTheBusiestBank) {
  const auto passes = [](std::int64_t stride) {
    return ProfileLaunch(Loads(Scope::kShared, stride), {}).bank_passes;
  };
  EXPECT_EQ(passes(1), 1);
  EXPECT_EQ(passes(2), 2);
  EXPECT_EQ(passes(33), 1);
  EXPECT_EQ(passes(32), 32);
  EXPECT_EQ(passes(0), 1) << "one word for all threads";
}

TEST(GpuFeaturesTest, AThreadLoopOverFusedAxesHasSteps) {
  // 32 threads over rows of 8: the rows are 100 elements apart.
  LoopSummary summary = Loads(Scope::kGlobal, 1);
  summary.stages[0].accesses[0].thread_steps = {{0, 8, 4, 100}, {0, 1, 8, 1}};
  // 0..31, 400..431, 800..831 and 1200..1231 bytes: 1 + 2 + 1 + 2 sectors.
  EXPECT_EQ(ProfileLaunch(summary, {}).sector_bytes, 6 * 32);
}

TEST(GpuFeaturesTest, FragmentsAreWhatEachThreadOfAWarpLoads) {
  const Workload workload = *Workload::Parse("dense(int8[64,64]MK,int8[64,64]NK)->int32");
  const Target target = *Target::Parse("cuda -arch=sm_80");
  const TemplateEntry* entry = BuiltInTemplates().Find("dense_mma.cuda");
  const auto kernel = entry->apply(workload, {}, target, *entry->default_config(workload, target));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const GpuProfile p = ProfileLaunch(*Summarize(kernel->schedule), LimitsOf(80));
  EXPECT_EQ(p.threads, 128) << "2 x 2 warps of 2 x 4 products";
  // Twice 32 products deep; each thread loads 8 bytes of 4 rows and of 4 columns.
  EXPECT_EQ(p.shared_loads, 128.0 * 2 * (4 + 4) * 8);
  // 8 bytes for each lane take at least two passes. In the worst case, threads are 4 rows of 64
  // bytes apart: all rows are in the same 8 banks, and columns alternate between those and 8
  // others.
  EXPECT_GE(p.bank_passes, 4.0 * 2 * (4 * 2 + 4 * 2));
  EXPECT_LE(p.bank_passes, 4.0 * 2 * (4 * 8 + 4 * 4));
}

TEST(GpuFeaturesTest, PaddingKeepsTheFragmentsOfAWarpApart) {
  const Workload workload = *Workload::Parse("dense(int8[256,512]MK,int8[256,512]NK)->int32");
  const Target target = *Target::Parse("cuda -arch=sm_80");
  const TemplateEntry& entry = *BuiltInTemplates().Find("dense_mma.cuda");
  const auto passes = [&](int pad) {
    const Config config = *Config::Parse(
        R"({"index":0,"values":{"warps_m":1,"warps_n":1,"tiles_m":2,"tiles_n":4,"steps_k":2,)"
        R"("copy_bytes":16,"stages":3,"auto_unroll_max_step":0,"pad_bytes":)" +
        std::to_string(pad) + "}}");
    const auto kernel = entry.apply(workload, {}, target, config);
    TW_CHECK(kernel.ok(), kernel.status().message());
    return ProfileLaunch(*Summarize(kernel->schedule), LimitsOf(80)).bank_passes;
  };
  // Rows of 64 bytes, 4 rows and 8 columns per thread: 8 passes for rows and 4 for columns, where
  // 32 lanes of 8 bytes need 2.
  const double accesses = 8.0 * 8 * 16 * 4;  // blocks, instructions along the sums, per operand
  EXPECT_EQ(passes(0), accesses * (8 + 4));
  EXPECT_EQ(passes(32), accesses * (2 + 2));
}

// Stages of 128 rows of 256 bytes.
TEST(GpuFeaturesTest, AllOfAMultiprocessorsSharedMemoryCounts) {
  const Workload workload = *Workload::Parse("dense(int8[64,1024]MK,int8[64,1024]NK)->int32");
  const Target target = *Target::Parse("cuda -arch=sm_90");
  const auto profile = [&](int stages, int capability) {
    const Config config = *Config::Parse(
        R"({"index":0,"values":{"warps_m":2,"warps_n":2,"tiles_m":2,"tiles_n":4,"steps_k":8,)"
        R"("copy_bytes":16,"auto_unroll_max_step":0,"pad_bytes":0,"stages":)" +
        std::to_string(stages) + "}}");
    const auto kernel =
        BuiltInTemplates().Find("dense_mma.cuda")->apply(workload, {}, target, config);
    TW_CHECK(kernel.ok(), kernel.status().message());
    return ProfileLaunch(*Summarize(kernel->schedule), LimitsOf(capability));
  };
  constexpr double kOneBlock = 4.0 / 64;  // warps, relative to the maximum of a multiprocessor
  EXPECT_EQ(profile(3, 90).shared_bytes, 3 * 128 * 256);
  EXPECT_EQ(profile(3, 90).occupancy, 2 * kOneBlock) << "96 KiB of 228";
  EXPECT_EQ(profile(3, 80).occupancy, kOneBlock) << "96 KiB of 164";
  EXPECT_EQ(profile(4, 90).occupancy, kOneBlock) << "128 KiB of 228";
}

class PublishedConv : public testing::Test {
 protected:
  PublishedConv() {
    const TemplateEntry* entry = BuiltInTemplates().Find("conv2d_nchw.cuda");
    const Workload workload = *Workload::Parse(
        "conv2d(float32[1,3,224,224]NCHW,float32[16,3,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
    config_ = *Config::Parse(
        R"({"index":0,"values":{"tile_f":[1,2,4,2],"tile_y":[224,1,1,1],"tile_x":[2,7,16,1],)"
        R"("tile_rc":[3,1],"tile_ry":[3,1],"tile_rx":[1,3],"auto_unroll_max_step":0,)"
        R"("unroll_explicit":0}})");
    const auto kernel = entry->apply(workload, {}, *Target::Parse("cuda -arch=sm_75"), config_);
    TW_CHECK(kernel.ok(), kernel.status().message());
    summary_ = *Summarize(kernel->schedule);
  }

  LoopSummary summary_;
  Config config_;
};

TEST_F(PublishedConv, ProfileIsThatOfTheLoweredKernel) {
  const GpuProfile p = ProfileLaunch(summary_, LimitsOf(75));
  EXPECT_EQ(p.blocks, 448);
  EXPECT_EQ(p.threads, 64);
  EXPECT_EQ(p.virtual_threads, 14);
  EXPECT_EQ(p.shared_bytes, 464 + 48 * 4) << "114 floats, rounded up to 16 bytes";
  EXPECT_EQ(p.sums, 28);
  EXPECT_EQ(p.steps, 9);
  EXPECT_EQ(p.registers, 24 + 28);
  EXPECT_EQ(p.occupancy, 1) << "16 blocks of 2 warps on a multiprocessor of 32";
  EXPECT_EQ(p.ops, 2.0 * 16 * 224 * 224 * 27);
  EXPECT_GE(p.sector_bytes, p.global_bytes / 8);
  // In each step, every thread reads 7 data values and 4 weights for each of 3 columns.
  EXPECT_EQ(p.shared_loads, 448.0 * 64 * 9 * 3 * (7 + 4));
}

TEST_F(PublishedConv, RowIsFiniteAndSaysWhatTheKnobsAre) {
  std::vector<float> row(static_cast<std::size_t>(FeatureCount()));
  ExtractGpuFeatures(summary_, LimitsOf(75), config_, row);
  for (const float value : row) EXPECT_TRUE(std::isfinite(value));
  const auto& names = GpuFeatureNames();
  const auto at = [&](const char* name) {
    return row[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())];
  };
  EXPECT_FLOAT_EQ(at("gpu.threads_x"), static_cast<float>(std::log2(17)));
  EXPECT_EQ(at("knobs.count"), 8);
  EXPECT_GT(at("memory.bank_ways"), 0);
  EXPECT_GT(at("memory.ops_per_byte"), 0);
}

TEST(GpuFeaturesTest, AreFiniteForAnEmptySummary) {
  std::vector<float> row(static_cast<std::size_t>(FeatureCount()));
  ExtractGpuFeatures(LoopSummary(), MultiprocessorLimits(), Config(), row);
  for (const float value : row) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace tilewright::cost_model
