// Every tile size of conv2d_winograd.cpu, with its data transformed before the products and by
// rows; the default configs do not cover all of them.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/target/cpu.h"
#include "src/templates/products.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

/// Returns the tiles and positions of the data transform that were built, ran and gave the result
/// of the definition.
std::set<std::pair<std::int64_t, std::string>> RightTiles(const char* key, const Target& target) {
  const TemplateEntry& entry = *BuiltInTemplates().Find("conv2d_winograd.cpu");
  const Workload workload = *Workload::Parse(key);
  EXPECT_EQ(entry.refuses(workload, target), "");
  const Epilogue epilogue = *Epilogue::Parse("add(channel:float32);relu");
  const AnchorData data = MakeAnchorData(workload, epilogue, 3);
  const Tensor* bias = &data.operands.front();
  const auto expected = EvaluateAnchor(workload, epilogue, data.data, data.weight, {&bias, 1});
  EXPECT_TRUE(expected.ok());
  const auto space = entry.define_space(workload, target);
  EXPECT_TRUE(space.ok());
  std::set<std::pair<std::int64_t, std::string>> right;
  for (std::int64_t i = 0; i < space->size(); ++i) {
    const Config config = space->At(i);
    const std::pair tile(config.Integer("tile"), config.Word("data"));
    if (right.contains(tile)) continue;
    const auto kernel = entry.apply(workload, epilogue, target, config);
    if (!kernel.ok()) continue;
    EXPECT_EQ(kernel->layouts.winograd_tile, tile.first);
    // (m + r - 1)^2 products instead of m^2 sums of r^2.
    const auto m = static_cast<double>(tile.first),
               r = static_cast<double>(workload.weight.shape[2]);
    EXPECT_DOUBLE_EQ(ProductShareOf(entry, workload, epilogue, target, config),
                     (m + r - 1) * (m + r - 1) / (m * m * r * r));
    const auto result = RunKernel(workload, epilogue, target, *kernel, data);
    EXPECT_TRUE(result.ok()) << result.status().message();
    const Comparison comparison = Compare(*result, *expected);
    EXPECT_TRUE(comparison.ok) << config.ToString() << ": element " << comparison.first_bad
                               << ", error " << comparison.max_abs_error << ", RMS "
                               << comparison.reference_rms;
    right.insert(tile);
  }
  return right;
}

TEST(WinogradTemplate, AllTilesOfThreeByThree) {
  std::vector<std::string> targets = {"native"};
  if (FeaturesOf(*Target::Parse("native"))->avx2) {
    targets.emplace_back("llvm -mcpu=core-avx2 -num-threads=2");
  }
  for (const std::string& target : targets) {
    const auto right = RightTiles(
        "conv2d(float32[1,32,11,14]NCHW,float32[32,32,3,3]OIHW,s1x1,p0x1x1x1,d1x1,g1)->float32",
        *Target::Parse(target));
    for (const std::int64_t tile : {2, 4, 6}) {
      EXPECT_TRUE(right.contains({tile, "all"}) && right.contains({tile, "rows"})) << tile;
    }
  }
}

TEST(WinogradTemplate, AllTilesOfFiveByFive) {
  const auto right = RightTiles(
      "conv2d(float32[2,24,7,9]NCHW,float32[40,24,5,5]OIHW,s1x1,p2x2x2x2,d1x1,g1)->float32",
      *Target::Parse("native"));
  for (const std::int64_t tile : {2, 4}) {
    EXPECT_TRUE(right.contains({tile, "all"}) && right.contains({tile, "rows"})) << tile;
  }
}

TEST(WinogradTemplate, OthersComputeTheProductsOfTheDefinition) {
  const Workload workload = *Workload::Parse(
      "conv2d(float32[1,32,11,14]NCHW,float32[32,32,3,3]OIHW,s1x1,p0x1x1x1,d1x1,g1)->float32");
  const Target target = *Target::Parse("llvm -mcpu=core-avx2");
  const TemplateEntry& entry = *BuiltInTemplates().Find("conv2d_direct.cpu");
  EXPECT_EQ(ProductShareOf(entry, workload, {}, target, *entry.default_config(workload, target)),
            1);
}

}  // namespace
}  // namespace tilewright
