// Every template on the sample workloads that it serves, with a few configs of each: results equal
// the reference, and a minimum number of configs ran. The test iterates over the registry, so it
// covers every registered template.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "src/base/random.h"
#include "src/codegen/codegen.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

struct Sample {
  const char* name;
  const char* workload;
  const char* epilogue;
};

// Small workloads with every difficult case: channels that no block divides, borders, strides,
// tails.
constexpr Sample kSamples[] = {
    {"Conv3x3",
     "conv2d(float32[1,32,10,9]NCHW,float32[48,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"Conv3x3Stride2",
     "conv2d(float32[2,16,11,11]NCHW,float32[32,16,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->float32", ""},
    {"ConvOddChannels",
     "conv2d(float32[1,24,9,9]NCHW,float32[40,24,3,3]OIHW,s1x1,p0x1x2x0,d1x1,g1)->float32", "relu"},
    {"ConvDilated",
     "conv2d(float32[1,16,12,12]NCHW,float32[16,16,3,3]OIHW,s1x1,p2x2x2x2,d2x2,g1)->float32",
     "sigmoid;mul(%0)"},
    {"Conv1x1",
     "conv2d(float32[1,48,7,7]NCHW,float32[80,48,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"Conv1x1Stride2",
     "conv2d(float32[1,32,14,14]NCHW,float32[64,32,1,1]OIHW,s2x2,p0x0x0x0,d1x1,g1)->float32", ""},
    {"ConvFirst",
     "conv2d(float32[1,3,30,30]NCHW,float32[32,3,7,7]OIHW,s2x2,p3x3x3x3,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"ConvNhwc",
     "conv2d(float32[1,9,9,16]NHWC,float32[3,3,16,32]HWIO,s1x1,p1x1x1x1,d1x1,g1)->float32", "relu"},
    {"ConvTiles",
     "conv2d(float32[2,24,12,8]NCHW,float32[40,24,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"ConvTilesUnevenPadding",
     "conv2d(float32[1,32,11,14]NCHW,float32[16,32,3,3]OIHW,s1x1,p0x1x1x1,d1x1,g1)->float32",
     "sigmoid;mul(%0)"},
    {"Conv5x5",
     "conv2d(float32[2,24,7,9]NCHW,float32[40,24,5,5]OIHW,s1x1,p2x2x2x2,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"ConvOneChannel",
     "conv2d(float32[1,1,9,12]NCHW,float32[24,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32", "relu"},
    {"ConvOneRow",
     "conv2d(float32[1,16,1,40]NCHW,float32[24,16,1,5]OIHW,s1x2,p0x2x0x2,d1x1,g1)->float32",
     "add(channel:float32)"},
    {"ConvU8", "conv2d(uint8[1,32,9,9]NCHW,int8[48,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
     "add(channel:int32);relu"},
    {"ConvS8", "conv2d(int8[1,32,9,9]NCHW,int8[32,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
     "add(256);shift_right(9);clip(-127,127);cast(int8)"},
    {"ConvS8Pointwise",
     "conv2d(int8[1,64,7,7]NCHW,int8[32,64,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->int32", ""},
    {"ConvU8OddChannels",
     "conv2d(uint8[1,24,7,7]NCHW,int8[40,24,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->int32", ""},
    {"ConvU8Residual",
     "conv2d(uint8[1,32,7,7]NCHW,int8[48,32,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->int32",
     "cast(float32);mul(0.01);add(tensor:uint8,less:128);mul(0.3);saturate_cast(uint8)"},
    {"ConvS8First", "conv2d(int8[1,3,16,16]NCHW,int8[16,3,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->int32",
     ""},
    {"ConvPacked",
     "conv2d(int8[1,2,7,7,1,16]NCHW1n16c,int8[2,2,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->"
     "int32",
     "shift_right(5);clip(-127,127);cast(int8)"},
    {"ConvBlockedBy8",
     "conv2d(float32[1,3,6,6,8]NCHW8c,float32[5,3,1,1,8,8]OIHW8i8o,s1x1,p0x0x0x0,d1x1,g1)->float32",
     "relu"},
    {"DepthwiseBlockedBy8",
     "depthwise_conv2d(float32[1,3,9,9,8]NCHW8c,float32[3,1,3,3,1,8]OIHW1i8o,s2x2,p0x0x0x0,d1x1,"
     "g24)"
     "->float32",
     "clip(0,6)"},
    {"Depthwise",
     "depthwise_conv2d(float32[1,32,10,10]NCHW,float32[32,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->"
     "float32",
     "add(channel:float32);clip(0,6)"},
    {"DepthwiseStride2",
     "depthwise_conv2d(float32[1,24,13,13]NCHW,float32[24,1,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g24)->"
     "float32",
     ""},
    {"Depthwise5x5",
     "depthwise_conv2d(float32[1,24,9,10]NCHW,float32[24,1,5,5]OIHW,s1x1,p2x2x2x2,d1x1,g24)->"
     "float32",
     "relu"},
    {"Depthwise7x7Stride2",
     "depthwise_conv2d(float32[1,20,13,11]NCHW,float32[20,1,7,7]OIHW,s2x2,p3x3x3x3,d1x1,g20)->"
     "float32",
     "add(channel:float32)"},
    {"DepthwiseU8",
     "depthwise_conv2d(uint8[1,32,9,9]NCHW,int8[32,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->int32",
     "relu"},
    {"DepthwiseU8OddChannels",
     "depthwise_conv2d(uint8[1,20,7,13]NCHW,int8[20,1,5,5]OIHW,s2x1,p2x1x1x3,d1x1,g20)->int32",
     "add(channel:int32);relu;cast(float32);mul(0.01);saturate_cast(uint8)"},
    {"DepthwiseS8",
     "depthwise_conv2d(int8[2,16,9,6]NCHW,int8[16,1,3,3]OIHW,s1x2,p1x1x1x1,d1x1,g16)->int32",
     "add(channel:int32)"},
    {"Grouped",
     "group_conv2d(float32[1,16,9,9]NCHW,float32[32,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g4)->float32",
     "relu"},
    {"GroupedBlocks",
     "group_conv2d(float32[1,32,9,10]NCHW,float32[64,16,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g2)->float32",
     "add(channel:float32);relu"},
    {"GroupedInOneBlock",
     "group_conv2d(float32[1,32,9,9]NCHW,float32[32,4,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g8)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"Grouped32",
     "group_conv2d(float32[1,128,5,6]NCHW,float32[128,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->float32",
     "add(channel:float32);relu"},
    {"GroupedFlat",
     "group_conv2d(float32[2,12,7,7]NCHW,float32[20,3,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g4)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"Transposed",
     "conv2d_transpose(float32[1,8,5,5]NCHW,float32[8,12,4,4]IOHW,s2x2,p1x1x1x1,d1x1,g1,o0x0)->"
     "float32",
     ""},
    {"Dense", "dense(float32[1,64]MK,float32[40,64]NK)->float32", "add(channel:float32)"},
    {"DenseRows", "dense(float32[6,96]MK,float32[72,96]NK)->float32",
     "add(channel:float32);div(1.5);erf;add(1);mul(%1);mul(0.5)"},
    {"DenseFewColumns", "dense(float32[3,320]MK,float32[5,320]NK)->float32",
     "add(channel:float32);relu"},
    {"DenseS8", "dense(int8[1,64]MK,int8[40,64]NK)->int32", "add(channel:int32)"},
    {"DenseS64", "dense(int64[6,24]MK,int64[40,24]NK)->int64", "add(channel:int64)"},
    {"DenseU32", "dense(uint32[6,24]MK,uint32[40,24]NK)->uint32", "add(channel:uint32)"},
    {"BatchU64", "batch_matmul(uint64[2,6,24]BMK,uint64[2,40,24]BNK)->uint64", ""},
    {"DenseU8Tails", "dense(uint8[1,64]MK,int8[232,64]NK)->int32", "relu"},
    {"ConvF16",
     "conv2d(float16[1,20,9,8]NCHW,float16[24,20,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float16);relu;cast(float16)"},
    {"ConvF16Rounded",
     "conv2d(float16[1,16,7,7]NCHW,float16[16,16,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float16",
     "add(channel:float16);relu"},
    {"DepthwiseF16",
     "depthwise_conv2d(float16[1,16,9,9]NCHW,float16[16,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g16)->"
     "float16",
     "clip(0,6)"},
    {"DenseF16", "dense(float16[16,40]MK,float16[24,40]NK)->float16", "add(channel:float16)"},
    // One product each: there are no sums whose order affects the rounding.
    {"DenseF16Casts", "dense(float16[4,1]MK,float16[8,1]NK)->float32",
     "cast(float16);cast(float32)"},
    {"DenseF16Long", "dense(float16[16,512]MK,float16[16,512]NK)->float32", ""},
    {"ConvF16Long",
     "conv2d(float16[1,64,4,4]NCHW,float16[16,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32", ""},
    {"BatchMatmulF16Long", "batch_matmul(float16[1,16,512]BMK,float16[1,16,512]BNK)->float32", ""},
    {"BatchMatmulF16", "batch_matmul(float16[2,16,24]BMK,float16[2,24,24]BNK)->float32", ""},
    {"Windows",
     "expression(input x0:float32[3,9,9];t0[i0:3,i1:7,i2:7]=max(r0:3,r1:3)x0[i0,i1+r0,i2+r1])", ""},
    {"Expression",
     "expression(const x0:float32[24,20];input "
     "x1:float32[12,20];t0[i0:12,i1:24]=sum(r0:20)x0[i1,r0]"
     "*x1[i0,r0];t1[i0:12,i1:24]=max(t0[i0,i1],0.0))",
     ""},
    {"TurnedProduct",
     "expression(input x0:float16[2,32,24];input "
     "x1:float16[2,32,16];t0[i0:2,i1:16,i2:24]=sum(r0:32)"
     "float32(x0[i0,r0,i2])*float32(x1[i0,r0,i1]);t1[i0:2,i1:16,i2:24]=max(t0[i0,i1,i2],0.0))",
     ""},
    {"DenseOfManyRows", "dense(float32[40,24]MK,float32[36,24]NK)->float32",
     "add(channel:float32)"},
    {"BatchMatmulOfOddSizes", "batch_matmul(float32[2,19,11]BMK,float32[2,37,11]BNK)->float32",
     "mul(0.125);add(channel:float32);add(tensor:float32)"},
    {"BatchMatmul", "batch_matmul(float32[3,12,32]BMK,float32[3,20,32]BNK)->float32", ""},
};

/// The operands of a sample and the reference's result.
struct Expected {
  Workload workload;
  Epilogue epilogue;
  AnchorData data;
  Tensor result;
};

Expected ExpectedOf(const Sample& sample) {
  auto workload = Workload::Parse(sample.workload);
  TW_CHECK(workload.ok(), workload.status().message());
  auto epilogue = Epilogue::Parse(sample.epilogue);
  TW_CHECK(epilogue.ok(), epilogue.status().message());
  AnchorData data = MakeAnchorData(*workload, *epilogue, 7);
  std::vector<const Tensor*> operands;
  for (const Tensor& operand : data.operands) operands.push_back(&operand);
  auto result = EvaluateAnchor(*workload, *epilogue, data.data, data.weight, operands);
  TW_CHECK(result.ok(), result.status().message());
  return {*std::move(workload), *std::move(epilogue), std::move(data), *std::move(result)};
}

/// Returns the targets of this machine, including older instruction sets; GPU kernels run in the
/// SIMT emulator.
std::vector<std::string> TargetsOf(const TemplateEntry& entry) {
  if (entry.device == "cuda") return {"cuda -arch=sm_75"};
  if (LibraryOfTemplate(entry.key) != nullptr) {
    return {"native -libs=dnnl", "native -libs=dnnl -num-threads=2"};
  }
  std::vector<std::string> targets = {"native", "native -num-threads=2"};
  if (FeaturesOf(*Target::Parse("native"))->avx2) targets.push_back("llvm -mcpu=core-avx2");
  return targets;
}

/// Returns whether only a CPU with AVX-512 could run the samples that this template rejects.
bool NeedsAvx512(const TemplateEntry& entry) {
  if (entry.device != "llvm" || FeaturesOf(*Target::Parse("native"))->avx512) return false;
  const Target target = *Target::Parse("llvm -mcpu=znver4");
  return std::ranges::any_of(kSamples, [&](const Sample& sample) {
    return entry.refuses(*Workload::Parse(sample.workload), target).empty();
  });
}

/// Draws configs of one template and counts those that ran. Otherwise a template that rejects
/// everything would pass.
class TemplateConformanceTest : public testing::TestWithParam<std::string> {
 protected:
  const TemplateEntry& entry() const { return *BuiltInTemplates().Find(GetParam()); }

  void CheckSample(const Expected& expected, const Target& target) {
    auto space = entry().define_space(expected.workload, target);
    ASSERT_TRUE(space.ok()) << space.status().message();
    auto chosen = entry().default_config(expected.workload, target);
    ASSERT_TRUE(chosen.ok()) << chosen.status().message();
    auto located = space->Locate(*chosen);
    ASSERT_TRUE(located.ok()) << located.status().message();
    EXPECT_EQ(*located, *chosen);
    ++samples_;
    const int before = ran_;
    CheckConfig(expected, target, *chosen);
    EXPECT_EQ(ran_, before + 1) << "the default config is refused";
    Random random(Fnv1a64(entry().key));
    // Many configs of a GPU are not legal launches: more draws than runs.
    constexpr int kRandomConfigs = 2, kDraws = 6;
    for (int i = 0; i < kDraws && ran_ < before + 1 + kRandomConfigs; ++i) {
      const auto index =
          static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(space->size())));
      CheckConfig(expected, target, space->At(index));
    }
  }

  int samples_ = 0, ran_ = 0;

 private:
  void CheckConfig(const Expected& expected, const Target& target, const Config& config) {
    SCOPED_TRACE(config.ToString());
    auto kernel = entry().apply(expected.workload, expected.epilogue, target, config);
    if (!kernel.ok()) {
      EXPECT_EQ(kernel.status().code(), StatusCode::kInvalidArgument) << kernel.status().message();
      return;
    }
    auto result = RunKernel(expected.workload, expected.epilogue, target, *kernel, expected.data);
    // A violation of launch limits is detected by lowering.
    if (DeviceTraitsOf(target).launches_grids &&
        result.status().code() == StatusCode::kInvalidArgument) {
      return;
    }
    ASSERT_TRUE(result.ok()) << result.status().message();
    const Comparison comparison = Compare(*result, expected.result);
    EXPECT_TRUE(comparison.ok) << "element " << comparison.first_bad << ", error "
                               << comparison.max_abs_error << ", RMS " << comparison.reference_rms;
    ++ran_;
  }
};

TEST_P(TemplateConformanceTest, EqualsTheReference) {
  if (LibraryOfTemplate(entry().key) != nullptr && !LibraryVersion(*FindLibrary("dnnl")).ok()) {
    GTEST_SKIP() << "needs libdnnl";
  }
  for (const Sample& sample : kSamples) {
    std::optional<Expected> expected;
    for (const std::string& text : TargetsOf(entry())) {
      const Target target = *Target::Parse(text);
      if (!entry().refuses(*Workload::Parse(sample.workload), target).empty()) continue;
      SCOPED_TRACE(std::string(entry().key) + ", " + sample.name + ", " + text);
      if (!expected) expected = ExpectedOf(sample);
      CheckSample(*expected, target);
    }
  }
  if (samples_ == 0 && NeedsAvx512(entry())) GTEST_SKIP() << "this CPU has no AVX-512";
  EXPECT_GT(samples_, 0) << "no sample is for " << entry().key;
  // The default config of each sample, and a random one for two of three samples. Samples without
  // knobs repeat the default config.
  EXPECT_GE(ran_, samples_ + samples_ * 2 / 3) << "too much was refused";
}

/// Templates that run here: tests/vta and tests/measure run streams of a VTA; libraries of GPUs
/// need a GPU.
std::vector<std::string> Runnable() {
  std::vector<std::string> keys;
  for (const TemplateEntry& entry : BuiltInTemplates().all()) {
    const bool of_gpu = entry.device == "cuda";
    if (entry.apply == nullptr || (of_gpu && LibraryOfTemplate(entry.key) != nullptr)) continue;
    keys.emplace_back(entry.key);
  }
  return keys;
}

INSTANTIATE_TEST_SUITE_P(Templates, TemplateConformanceTest, testing::ValuesIn(Runnable()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(TemplateRegistryTest, EveryAnchorOfTheSamplesHasATemplateOnEveryCpu) {
  for (const Sample& sample : kSamples) {
    for (const char* target : {"native", "native -num-threads=2", "llvm -mcpu=core-avx2"}) {
      EXPECT_FALSE(
          BuiltInTemplates().For(*Workload::Parse(sample.workload), *Target::Parse(target)).empty())
          << sample.name << " on " << target;
    }
  }
}

TEST(TemplateHalfTest, ACpuWithoutConversionsIsToldSo) {
  const Workload workload = *Workload::Parse("dense(float16[4,8]MK,float16[8,8]NK)->float32");
  const Target old = *Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64");
  const TemplateEntry* entry = BuiltInTemplates().For(workload, old).front();
  auto kernel = entry->apply(workload, {}, old, *entry->default_config(workload, old));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  auto program = Lower(kernel->schedule, "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto object = Generate({*program}, old, Emit::kObject);
  EXPECT_EQ(object.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(object.status().message().find("+f16c"), std::string::npos);
}

TEST(TemplateRegistryTest, KeysAreFoundAndUnknownOnesAreNot) {
  for (const TemplateEntry& entry : BuiltInTemplates().all())
    EXPECT_EQ(BuiltInTemplates().Find(entry.key), &entry);
  EXPECT_EQ(BuiltInTemplates().Find("conv2d"), nullptr);
  EXPECT_EQ(BuiltInTemplates().Find(""), nullptr);
}

}  // namespace
}  // namespace tilewright
