// Depthwise convolutions with four taps at a time, on difficult shapes: rows shorter than the taps,
// windows that begin and end outside, tiles with tails, kernels of one and two blocks of taps; with
// and without byte-permute instructions.

#include <gtest/gtest.h>

#include "src/codegen/codegen.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

const TemplateEntry& Taps() { return *BuiltInTemplates().Find("depthwise_taps_int8.cpu"); }

constexpr const char* kShapes[] = {
    "[1,16,1,1]NCHW,int8[16,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g16)->int32",
    "[1,16,2,2]NCHW,int8[16,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g16)->int32",
    "[2,24,3,3]NCHW,int8[24,1,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g24)->int32",
    "[1,40,5,5]NCHW,int8[40,1,3,3]OIHW,s1x1,p0x2x1x0,d1x1,g40)->int32",
    "[1,16,12,5]NCHW,int8[16,1,3,3]OIHW,s1x1,p0x0x0x0,d1x1,g16)->int32",
    "[1,3,9,30]NCHW,int8[3,1,3,3]OIHW,s2x3,p1x0x1x0,d1x1,g3)->int32",
    "[1,32,14,14]NCHW,int8[32,1,5,5]OIHW,s1x1,p2x2x2x2,d1x1,g32)->int32",
    "[1,16,7,7]NCHW,int8[16,1,7,7]OIHW,s1x1,p3x3x3x3,d1x1,g16)->int32",
    "[1,16,6,33]NCHW,int8[16,1,2,4]OIHW,s1x1,p5x1x0x9,d1x1,g16)->int32",
    "[1,16,11,8]NCHW,int8[16,1,3,1]OIHW,s1x1,p4x0x4x0,d3x1,g16)->int32",
};

void CheckShape(const std::string& type, const char* shape, const Target& target,
                bool narrow = false) {
  Workload workload = *Workload::Parse("depthwise_conv2d(" + type + shape);
  workload.reduced_range_weights = narrow;
  SCOPED_TRACE(workload.Key() + " on " + target.ToString());
  ASSERT_EQ(Taps().refuses(workload, target), "");
  const Epilogue epilogue = *Epilogue::Parse("add(channel:int32)");
  const AnchorData data = MakeAnchorData(workload, epilogue, 3);
  const auto expected =
      EvaluateAnchor(workload, epilogue, data.data, data.weight, {{&data.operands[0]}});
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const auto space = Taps().define_space(workload, target);
  ASSERT_TRUE(space.ok()) << space.status().message();
  const auto chosen = Taps().default_config(workload, target);
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  for (const Config& config : {*chosen, space->At(0), space->At(space->size() / 2)}) {
    SCOPED_TRACE(config.ToString());
    const auto kernel = Taps().apply(workload, epilogue, target, config);
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    const auto result = RunKernel(workload, epilogue, target, *kernel, data);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const Comparison comparison = Compare(*result, *expected);
    EXPECT_TRUE(comparison.ok) << "element " << comparison.first_bad;
  }
}

TEST(DepthwiseTapsTest, EqualsTheReferenceWhereWindowsReachOutside) {
  if (!FeaturesOf(*Target::Parse("native"))->avx512_vnni)
    GTEST_SKIP() << "this CPU has no AVX512-VNNI";
  for (const char* shape : kShapes) {
    for (const char* target : {"native -num-threads=2", "llvm -mcpu=cascadelake"}) {
      CheckShape("uint8", shape, *Target::Parse(target));
    }
    CheckShape("int8", shape, *Target::Parse("native"));
  }
}

TEST(DepthwiseTapsTest, EqualsTheReferenceByPairsOfNarrowWeights) {
  const CpuFeatures native = *FeaturesOf(*Target::Parse("native"));
  if (!native.avx2) GTEST_SKIP() << "needs AVX2";
  for (const char* shape : kShapes) {
    for (const char* type : {"uint8", "int8"}) {
      CheckShape(type, shape, *Target::Parse("llvm -mcpu=core-avx2"), true);
      if (native.avx512) CheckShape(type, shape, *Target::Parse("llvm -mcpu=skylake-avx512"), true);
    }
  }
}

TEST(DepthwiseTapsTest, ServesCpusThatMultiplyBytes) {
  Workload workload = *Workload::Parse(
      "depthwise_conv2d(uint8[1,32,14,14]NCHW,int8[32,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->int32");
  const auto first = [&](const char* target) {
    return BuiltInTemplates().For(workload, *Target::Parse(target)).front()->key;
  };
  EXPECT_EQ(first("llvm -mcpu=cascadelake"), "depthwise_taps_int8.cpu");
  EXPECT_EQ(first("llvm -mcpu=alderlake"), "depthwise_taps_int8.cpu");
  EXPECT_EQ(first("llvm -mcpu=skylake-avx512"), "depthwise_direct.cpu");
  EXPECT_EQ(first("llvm -mcpu=core-avx2"), "depthwise_direct.cpu");
  workload.reduced_range_weights = true;
  EXPECT_EQ(first("llvm -mcpu=core-avx2"), "depthwise_taps_int8.cpu");
  EXPECT_EQ(first("llvm -mcpu=x86-64"), "depthwise_direct.cpu");
}

TEST(DepthwiseTapsTest, LeavesSignedDataOfStridedWindowsToTheOther) {
  const auto first = [](const char* type, const char* strides) {
    const std::string key = std::string("depthwise_conv2d(") + type +
                            "[1,32,14,14]NCHW,int8[32,1,3,3]OIHW,s" + strides +
                            ",p1x1x1x1,d1x1,g32)->int32";
    const Target target = *Target::Parse("llvm -mcpu=cascadelake");
    return BuiltInTemplates().For(*Workload::Parse(key), target).front()->key;
  };
  EXPECT_EQ(first("uint8", "2x2"), "depthwise_taps_int8.cpu");
  EXPECT_EQ(first("int8", "1x1"), "depthwise_taps_int8.cpu");
  EXPECT_EQ(first("int8", "2x2"), "depthwise_direct.cpu");
}

TEST(DepthwiseTapsTest, SumsTapsByTheDotProductOfTheTarget) {
  const Workload workload = *Workload::Parse(
      "depthwise_conv2d(uint8[1,32,14,14]NCHW,int8[32,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->int32");
  for (const char* text : {"llvm -mcpu=cascadelake", "llvm -mcpu=alderlake"}) {
    const Target target = *Target::Parse(text);
    const auto kernel =
        Taps().apply(workload, {}, target, *Taps().default_config(workload, target));
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    const auto program = Lower(kernel->schedule, "kernel");
    ASSERT_TRUE(program.ok()) << program.status().message();
    const auto assembly = Generate({*program}, target, Emit::kAssembly);
    ASSERT_TRUE(assembly.ok()) << assembly.status().message();
    const std::string code(assembly->begin(), assembly->end());
    EXPECT_NE(code.find("vpdpbusd"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tilewright
