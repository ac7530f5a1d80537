#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "cost_model/cost_model.h"

namespace tilewright::cost_model {
namespace {

/// A 64 x 64 x 64 matrix product: i.o parallel, k, then i.i unrolled by 4 and j.i in vectors of 16.
LoopSummary MatrixProduct() {
  SummaryStage stage;
  stage.name = "reduce";
  stage.loops = {{16, LoopKind::kParallel, false},
                 {4, LoopKind::kSerial, false},
                 {64, LoopKind::kSerial, true},
                 {4, LoopKind::kUnrolled, false},
                 {16, LoopKind::kVectorized, false}};
  stage.arithmetic_ops = 2;
  stage.local_bytes = 256;
  stage.accesses = {
      {"c", kFloat32, Scope::kLocal, true, {256, 16, 0, 64, 1}, {16384, 1024, 256, 256, 64, 4}},
      {"a", kFloat32, Scope::kGlobal, false, {256, 0, 1, 64, 0}, {16384, 1024, 1024, 16, 4, 4}},
      {"b", kFloat32, Scope::kGlobal, false, {0, 16, 64, 0, 1}, {16384, 16384, 4096, 64, 64, 4}},
  };
  return LoopSummary{{stage}};
}

Config TwoKnobs() {
  Config config;
  config.index = 7;
  config.values = {{"tile_i", KnobValue{std::vector<std::int64_t>{16, 4}}},
                   {"unroll", KnobValue{true}}};
  return config;
}

std::map<std::string, float> Named(const LoopSummary& summary, const Config& config) {
  std::vector<float> row(static_cast<std::size_t>(FeatureCount()));
  ExtractFeatures(summary, config, row);
  std::map<std::string, float> named;
  for (std::size_t i = 0; i < row.size(); ++i) named[FeatureNames()[i]] = row[i];
  return named;
}

constexpr int kGoldenCount = 141;
constexpr double kGoldenSum = 456332.809;

float Log(double x) { return static_cast<float>(std::log2(1 + x)); }

TEST(FeaturesTest, NamesAreUniqueAndOneForEachValue) {
  std::vector<std::string> names = FeatureNames();
  EXPECT_EQ(names.size(), static_cast<std::size_t>(FeatureCount()));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_GE(FeatureCount(), 100);
  EXPECT_LE(FeatureCount(), 160);
}

TEST(FeaturesTest, DescribeTheLoopsOfTheMainStage) {
  auto f = Named(MatrixProduct(), TwoKnobs());
  EXPECT_EQ(f["main.loops"], 5);
  EXPECT_EQ(f["main.reductions"], 1);
  EXPECT_EQ(f["main.iterations"], Log(64 * 64 * 64));
  EXPECT_EQ(f["main.ops"], Log(2 * 64 * 64 * 64));
  EXPECT_EQ(f["main.vector"], Log(16));
  EXPECT_EQ(f["main.unrolled"], Log(4));
  EXPECT_EQ(f["main.parallel"], Log(16));
  EXPECT_EQ(f["main.inner_serial"], Log(64));
  EXPECT_EQ(f["main.inner_serial_reduces"], 1);
  EXPECT_EQ(f["main.tile_spatial"], Log(64));
  EXPECT_EQ(f["main.tile_vectors"], Log(4));
  EXPECT_EQ(f["main.tile_written_bytes"], Log(256));
  EXPECT_EQ(f["main.tile_read_bytes"], Log(16 + 64));
  EXPECT_EQ(f["main.reduction_depth"], 2);
  EXPECT_EQ(f["loop0.extent"], Log(16));
  EXPECT_EQ(f["loop0.kind"], 3);
  EXPECT_EQ(f["loop2.reduces"], 1);
  EXPECT_EQ(f["loop5.extent"], 0);
}

TEST(FeaturesTest, CountTheBytesThatCrossIntoEachMemory) {
  auto f = Named(MatrixProduct(), TwoKnobs());
  // 16 KiB hold the 5376 bytes inside the second loop: c and a are transferred once, b once per
  // i.o.
  const double bytes = 256.0 * 64 + 1024 * 16 + 4096 * 64;
  EXPECT_EQ(f["ai13.ops_per_byte"], Log(2.0 * 64 * 64 * 64 / bytes));
  // 64 KiB hold everything.
  EXPECT_EQ(f["ai16.ops_per_byte"], Log(2.0 * 64 * 64 * 64 / (3 * 16384)));
  EXPECT_EQ(f["access2.vector_stride"], Log(1));
  EXPECT_EQ(f["access1.vector_stride"], 0);
  EXPECT_EQ(f["access0.l2_reloads"], Log(1));
}

TEST(FeaturesTest, HoldKnobsInnermostFactorFirst) {
  auto f = Named(MatrixProduct(), TwoKnobs());
  EXPECT_EQ(f["knob0.inner"], Log(4));
  EXPECT_EQ(f["knob0.middle"], Log(16));
  EXPECT_EQ(f["knob1.inner"], 1);
  EXPECT_EQ(f["knobs.count"], 2);
}

TEST(FeaturesTest, SumTheOtherStages) {
  LoopSummary summary = MatrixProduct();
  SummaryStage pad;
  pad.name = "pad";
  pad.loops = {{64, LoopKind::kParallel, false}, {64, LoopKind::kVectorized, false}};
  pad.accesses = {{"p", kFloat32, Scope::kGlobal, true, {64, 1}, {16384, 256, 4}}};
  summary.stages.insert(summary.stages.begin(), pad);
  auto f = Named(summary, TwoKnobs());
  EXPECT_EQ(f["before.stages"], 1);
  EXPECT_EQ(f["before.bytes"], Log(16384));
  EXPECT_EQ(f["before.vector"], Log(64));
  EXPECT_EQ(f["after.stages"], 0);
  EXPECT_EQ(f["main.loops"], 5);
}

TEST(FeaturesTest, AreFiniteForAnEmptySummary) {
  for (const auto& [name, value] : Named(LoopSummary(), Config())) {
    EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

TEST(FeaturesTest, ChangeOnlyWithTheirVersion) {
  std::vector<float> row(static_cast<std::size_t>(FeatureCount()));
  ExtractFeatures(MatrixProduct(), TwoKnobs(), row);
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) sum += row[i] * static_cast<double>(i + 1);
  // Increase kFeatureVersion when these values change: models and data of other versions are
  // rejected.
  EXPECT_EQ(kFeatureVersion, 1);
  EXPECT_EQ(FeatureCount(), kGoldenCount);
  EXPECT_NEAR(sum, kGoldenSum, 0.01);
}

}  // namespace
}  // namespace tilewright::cost_model
