// Schedules of templates and their loops as text, so that a review shows their changes. With the
// environment variable TILEWRIGHT_REWRITE_GOLDEN=1, the test rewrites the texts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "src/base/files/file.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

struct GoldenCase {
  const char *key, *target, *workload, *epilogue;
};
void PrintTo(const GoldenCase& c, std::ostream* os) { *os << c.key; }

constexpr const char* kCpu = "llvm -mcpu=skylake-avx512 -num-threads=2";
constexpr const char* kVnni = "llvm -mcpu=cascadelake -num-threads=2";
constexpr const char* kArm = "llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -num-threads=2";
constexpr const char* kMali = "opencl -device=mali";
constexpr const char* kGpu = "cuda -arch=sm_80";
constexpr const char* kConv =
    "conv2d(float32[1,32,14,14]NCHW,float32[32,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";
constexpr const char* kConvU8 =
    "conv2d(uint8[1,32,14,14]NCHW,int8[32,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32";
constexpr const char* kDepthwise =
    "depthwise_conv2d(float32[1,32,14,14]NCHW,float32[32,1,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g32)->"
    "float32";
constexpr const char* kDense = "dense(float32[1,64]MK,float32[40,64]NK)->float32";
constexpr const char* kBias = "add(channel:float32);relu";

constexpr GoldenCase kCases[] = {
    {"anchor_plain.cpu", kCpu, "dense(float32[6,9]MK,float32[10,9]NK)->float32", "relu"},
    {"batch_matmul.x86", kCpu, "batch_matmul(float32[3,12,32]BMK,float32[3,20,32]BNK)->float32",
     ""},
    {"batch_matmul_packed.cpu", kCpu,
     "batch_matmul(float32[3,12,32]BMK,float32[3,20,32]BNK)->float32", "mul(0.125)"},
    {"conv2d_NCHWc.x86", kCpu, kConv, kBias},
    {"conv2d_direct.cpu", kCpu, kConv, kBias},
    {"conv2d_direct_int8.cpu", kVnni, kConvU8, "add(channel:int32);relu"},
    {"conv2d_nchw.cuda", kGpu, kConv, kBias},
    {"conv2d_nchw_spatial_pack.arm_cpu", kArm, kConv, kBias},
    {"conv2d_nchw_spatial_pack.mali", kMali, kConv, kBias},
    {"conv2d_winograd.cpu", kCpu,
     "conv2d(float32[1,16,7,7]NCHW,float32[16,16,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32", kBias},
    {"dense_mma.cuda", kGpu, "dense(float16[64,64]MK,float16[64,64]NK)->float32", ""},
    {"dense_packed.cpu", kCpu, kDense, "add(channel:float32)"},
    {"dense_small_batch.cuda", kGpu, kDense, ""},
    {"depthwise_direct.cpu", kCpu, kDepthwise, "clip(0,6)"},
    {"depthwise_taps_int8.cpu", kVnni,
     "depthwise_conv2d(uint8[1,32,14,14]NCHW,int8[32,1,5,5]OIHW,s2x2,p2x2x2x2,d1x1,g32)->int32",
     "add(channel:int32);relu"},
};

class GoldenLoopsTest : public testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenLoopsTest, OfTheDefaultConfig) {
  const GoldenCase& c = GetParam();
  const Target target = *Target::Parse(c.target);
  const Workload workload = *Workload::Parse(c.workload);
  const TemplateEntry* entry = BuiltInTemplates().Find(c.key);
  ASSERT_NE(entry, nullptr);
  ASSERT_EQ(entry->refuses(workload, target), "");
  const auto config = entry->default_config(workload, target);
  ASSERT_TRUE(config.ok()) << config.status().message();
  const auto kernel = entry->apply(workload, *Epilogue::Parse(c.epilogue), target, *config);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const auto program = Lower(kernel->schedule, "kernel", LowerLimitsFor(target));
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string text = std::string(c.workload) + "\n" + c.epilogue + "\n" + c.target + "\n" +
                           config->ToString() + "\n\n" + kernel->schedule.ToString() + "\n" +
                           ToString(*program);

  const std::string path = std::string(TILEWRIGHT_SOURCE_DIR "/tests/golden/") + c.key + ".txt";
  if (std::getenv("TILEWRIGHT_REWRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFile(path, text).ok());
  }
  const auto golden = ReadFile(path);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  EXPECT_EQ(text, *golden);
}

INSTANTIATE_TEST_SUITE_P(Templates, GoldenLoopsTest, testing::ValuesIn(kCases),
                         [](const auto& tested) {
                           std::string name = tested.param.key;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace tilewright
