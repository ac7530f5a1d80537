// Kernels that sum pairs of bytes: exact for the largest sums, and used only for reduced-range
// weights.

#include <gtest/gtest.h>

#include <algorithm>

#include "src/codegen/codegen.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

constexpr const char* kAvx2 = "llvm -mcpu=core-avx2";
constexpr const char* kPairs = "pmaddubsw";

std::string AssemblyOf(const Workload& workload, const TemplateEntry& entry) {
  const Target target = *Target::Parse(kAvx2);
  const auto config = entry.default_config(workload, target);
  EXPECT_TRUE(config.ok()) << config.status().message();
  const auto kernel = entry.apply(workload, {}, target, *config);
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  const auto program = Lower(kernel->schedule, "kernel");
  EXPECT_TRUE(program.ok()) << program.status().message();
  const auto text = Generate({*program}, target, Emit::kAssembly);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return *text;
}

/// Returns random operands, and those with the largest sums of pairs: data of 255 (shifted int8
/// data of 127), weights of 64 and of -64, alternating by output channel.
std::vector<AnchorData> Operands(const Workload& workload) {
  std::vector<AnchorData> operands;
  operands.push_back(MakeAnchorData(workload, {}, 3));
  AnchorData& far = operands.emplace_back(MakeAnchorData(workload, {}, 3));
  for (std::int64_t i = 0; i < far.data.elements(); ++i) far.data.Set(i, 255);
  const std::int64_t each = far.weight.elements() / far.weight.shape()[0];
  for (std::int64_t i = 0; i < far.weight.elements(); ++i) {
    far.weight.Set(i, i / each % 2 == 0 ? kReducedRangeMagnitude : -kReducedRangeMagnitude);
  }
  return operands;
}

void CheckNarrow(const std::string& key, const char* template_key) {
  const CpuFeatures native = *FeaturesOf(*Target::Parse("native"));
  const TemplateEntry& entry = *BuiltInTemplates().Find(template_key);
  const Workload workload = *Workload::Parse(key);
  for (const char* text : {kAvx2, "llvm -mcpu=skylake-avx512 -num-threads=2"}) {
    if (!native.avx2 || (text != kAvx2 && !native.avx512)) continue;
    const Target target = *Target::Parse(text);
    SCOPED_TRACE(key + " on " + text);
    ASSERT_EQ(entry.refuses(workload, target), "");
    const auto space = entry.define_space(workload, target);
    ASSERT_TRUE(space.ok()) << space.status().message();
    const auto chosen = entry.default_config(workload, target);
    ASSERT_TRUE(chosen.ok()) << chosen.status().message();
    for (const Config& config : {*chosen, space->At(0), space->At(space->size() / 2)}) {
      const auto kernel = entry.apply(workload, {}, target, config);
      ASSERT_TRUE(kernel.ok()) << config.ToString() << ": " << kernel.status().message();
      for (const AnchorData& data : Operands(workload)) {
        const auto expected = EvaluateAnchor(workload, {}, data.data, data.weight, {});
        ASSERT_TRUE(expected.ok()) << expected.status().message();
        const auto result = RunKernel(workload, {}, target, *kernel, data);
        ASSERT_TRUE(result.ok()) << result.status().message();
        const Comparison comparison = Compare(*result, *expected);
        EXPECT_TRUE(comparison.ok) << config.ToString() << ": element " << comparison.first_bad;
      }
    }
  }
}

TEST(NarrowWeightsTest, ConvolutionsAndDenseLayersAreExact) {
  for (const std::string type : {"uint8", "int8"}) {
    CheckNarrow(
        "conv2d(" + type + "[1,40,9,8]NCHW,int8[24,40,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1,w64)->int32",
        "conv2d_direct_int8.cpu");
    CheckNarrow(
        "conv2d(" + type + "[1,3,9,9]NCHW,int8[10,3,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1,w64)->int32",
        "conv2d_direct_int8.cpu");
    CheckNarrow(
        "conv2d(" + type + "[1,64,5,5]NCHW,int8[48,64,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1,w64)->int32",
        "conv2d_direct_int8.cpu");
    CheckNarrow("dense(" + type + "[5,36]MK,int8[40,36]NK,w64)->int32", "dense_packed.cpu");
    CheckNarrow("dense(" + type + "[1,64]MK,int8[100,64]NK,w64)->int32", "dense_packed.cpu");
    CheckNarrow("dense(" + type + "[5,38]MK,int8[40,38]NK,w64)->int32", "dense_packed.cpu");
  }
}

TEST(NarrowWeightsTest, OnlyWorkloadsThatSaySoSumPairsOfBytes) {
  const std::string conv = "conv2d(uint8[1,64,7,7]NCHW,int8[32,64,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1";
  const std::string dense = "dense(uint8[4,64]MK,int8[32,64]NK";
  for (const auto& [start, key] :
       {std::pair(conv, "conv2d_direct_int8.cpu"), std::pair(dense, "dense_packed.cpu"),
        std::pair(conv, "conv2d_NCHWc_int8.x86")}) {
    const TemplateEntry& entry = *BuiltInTemplates().Find(key);
    const auto assembly = [&](const std::string& end) {
      return AssemblyOf(*Workload::Parse(start + end), entry);
    };
    EXPECT_EQ(assembly(")->int32").find(kPairs), std::string::npos) << key;
    EXPECT_NE(assembly(",w64)->int32").find(kPairs), std::string::npos) << key;
  }
}

// The row is not a multiple of four bytes, but of a pair of words.
TEST(NarrowWeightsTest, RowsOfPairsAreMultipliedByWords) {
  const TemplateEntry& entry = *BuiltInTemplates().Find("dense_packed.cpu");
  for (const char* end : {")->int32", ",w64)->int32"}) {
    const Workload workload =
        *Workload::Parse(std::string("dense(uint8[4,66]MK,int8[32,66]NK") + end);
    const std::string assembly = AssemblyOf(workload, entry);
    EXPECT_NE(assembly.find("pmaddwd"), std::string::npos) << end;
    EXPECT_EQ(assembly.find(kPairs), std::string::npos) << end;
  }
}

// A data value, a product before its addition, and ones need a register each.
TEST(NarrowWeightsTest, DenseTilesLeaveRoomForTheProduct) {
  const TemplateEntry& entry = *BuiltInTemplates().Find("dense_packed.cpu");
  const Target target = *Target::Parse(kAvx2);
  const auto most = [&](const char* end) {
    const Workload workload =
        *Workload::Parse(std::string("dense(uint8[12,64]MK,int8[96,64]NK") + end);
    const auto space = entry.define_space(workload, target);
    EXPECT_TRUE(space.ok()) << space.status().message();
    std::int64_t registers = 0;
    for (std::int64_t i = 0; i < space->size(); ++i) {
      const Config config = space->At(i);
      const auto& tile = config.Factors("register_tile");
      const std::int64_t weights = tile[0] > 1 ? tile[1] : 0;
      registers = std::max(registers, tile[0] * tile[1] + weights);
    }
    return registers;
  };
  EXPECT_EQ(most(")->int32"), 14);
  EXPECT_EQ(most(",w64)->int32"), 13);
}

}  // namespace
}  // namespace tilewright
