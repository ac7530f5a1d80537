// Every template on sample workloads and a few configs of each: what it computes equals the
// reference. Walks the registry, so a new template is covered by its line there.

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/codegen/codegen.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

struct Sample {
  const char* name;
  const char* workload;
  const char* epilogue;
};

// Small, with every awkward case: channels no block divides, borders, strides, tails.
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
    {"DepthwiseU8",
     "depthwise_conv2d(uint8[1,32,9,9]NCHW,int8[32,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->int32",
     "relu"},
    {"Grouped",
     "group_conv2d(float32[1,16,9,9]NCHW,float32[32,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g4)->float32",
     "relu"},
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
    {"DenseS8", "dense(int8[1,64]MK,int8[40,64]NK)->int32", "add(channel:int32)"},
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
    // One product each: no sums whose order decides what they are rounded to.
    {"DenseF16Casts", "dense(float16[4,1]MK,float16[8,1]NK)->float32",
     "cast(float16);cast(float32)"},
    {"DenseF16Long", "dense(float16[16,512]MK,float16[16,512]NK)->float32", ""},
    {"ConvF16Long",
     "conv2d(float16[1,64,4,4]NCHW,float16[16,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32", ""},
    {"BatchMatmulF16Long", "batch_matmul(float16[1,16,512]BMK,float16[1,16,512]BNK)->float32", ""},
    {"BatchMatmulF16", "batch_matmul(float16[2,16,24]BMK,float16[2,24,24]BNK)->float32", ""},
    {"BatchMatmul", "batch_matmul(float32[3,12,32]BMK,float32[3,20,32]BNK)->float32", ""},
};

class TemplateConformanceTest : public testing::TestWithParam<Sample> {};

void CheckConfig(const TemplateEntry& entry, const Workload& workload, const Epilogue& epilogue,
                 const Target& target, const Config& config, const AnchorData& data,
                 const Tensor& expected) {
  auto kernel = entry.apply(workload, epilogue, target, config);
  if (!kernel.ok()) {
    EXPECT_EQ(kernel.status().code(), StatusCode::kInvalidArgument) << kernel.status().message();
    return;
  }
  auto result = RunKernel(workload, epilogue, target, *kernel, data);
  // What passes the limits of a launch shows when it is lowered.
  if (DeviceTraitsOf(target).grids && result.status().code() == StatusCode::kInvalidArgument) {
    return;
  }
  ASSERT_TRUE(result.ok()) << entry.key << " " << config.ToString() << ": "
                           << result.status().message();
  const Comparison comparison = Compare(*result, expected);
  EXPECT_TRUE(comparison.ok) << entry.key << " " << config.ToString() << ": element "
                             << comparison.first_bad << ", error " << comparison.max_abs_error
                             << ", RMS " << comparison.reference_rms;
}

TEST_P(TemplateConformanceTest, EqualsTheReference) {
  auto workload = Workload::Parse(GetParam().workload);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  auto epilogue = Epilogue::Parse(GetParam().epilogue);
  ASSERT_TRUE(epilogue.ok()) << epilogue.status().message();
  const AnchorData data = MakeAnchorData(*workload, *epilogue, 7);
  std::vector<const Tensor*> operands;
  for (const Tensor& operand : data.operands) operands.push_back(&operand);
  auto expected = EvaluateAnchor(*workload, *epilogue, data.data, data.weight, operands);
  ASSERT_TRUE(expected.ok()) << expected.status().message();

  // What this machine has, and the older sets it can run too.
  const auto host = FeaturesOf(*Target::Parse("native"));
  ASSERT_TRUE(host.ok());
  std::vector<std::string> targets = {"native", "native -num-threads=2"};
  if (host->avx2) targets.push_back("llvm -mcpu=core-avx2");
  if (LibraryVersion(*FindLibrary("dnnl")).ok()) {
    targets.push_back("native -libs=dnnl");
    targets.push_back("native -libs=dnnl -num-threads=2");
  }
  targets.push_back("cuda -arch=sm_75");
  for (const std::string& text : targets) {
    SCOPED_TRACE(text);
    const Target target = *Target::Parse(text);
    const auto entries = TemplatesFor(*workload, target);
    const bool every_operator = DeviceTraitsOf(target).machine_code;
    ASSERT_FALSE(entries.empty() && every_operator) << "no template";
    for (const TemplateEntry* entry : entries) {
      // What is generated was run without the library already.
      if (!LibrariesOf(target).empty() && LibraryOfTemplate(entry->key) == nullptr) continue;
      auto space = entry->define_space(*workload, target);
      ASSERT_TRUE(space.ok()) << entry->key << ": " << space.status().message();
      auto chosen = entry->default_config(*workload, target);
      ASSERT_TRUE(chosen.ok()) << entry->key << ": " << chosen.status().message();
      auto located = space->Locate(*chosen);
      ASSERT_TRUE(located.ok()) << entry->key << ": " << located.status().message();
      EXPECT_EQ(*located, *chosen);
      EXPECT_TRUE(entry->apply(*workload, *epilogue, target, *chosen).ok())
          << entry->key << ": "
          << entry->apply(*workload, *epilogue, target, *chosen).status().message();
      CheckConfig(*entry, *workload, *epilogue, target, *chosen, data, *expected);
      Random random(Fnv1a64(entry->key));
      constexpr int kRandomConfigs = 3;
      for (int i = 0; i < kRandomConfigs; ++i) {
        const auto index =
            static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(space->size())));
        CheckConfig(*entry, *workload, *epilogue, target, space->At(index), data, *expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, TemplateConformanceTest, testing::ValuesIn(kSamples),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(TemplateHalfTest, ACpuWithoutConversionsIsToldSo) {
  const Workload workload = *Workload::Parse("dense(float16[4,8]MK,float16[8,8]NK)->float32");
  const Target old = *Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64");
  const TemplateEntry* entry = TemplatesFor(workload, old).front();
  auto kernel = entry->apply(workload, {}, old, *entry->default_config(workload, old));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  auto program = Lower(kernel->schedule, "kernel");
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto object = Generate({*program}, old, Emit::kObject);
  EXPECT_EQ(object.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(object.status().message().find("+f16c"), std::string::npos);
}

TEST(TemplateRegistryTest, KeysAreFoundAndUnknownOnesAreNot) {
  for (const TemplateEntry& entry : Templates()) EXPECT_EQ(FindTemplate(entry.key), &entry);
  EXPECT_EQ(FindTemplate("conv2d"), nullptr);
  EXPECT_EQ(FindTemplate(""), nullptr);
}

}  // namespace
}  // namespace tilewright
