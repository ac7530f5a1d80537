// Templates for AMD GPUs: the modules of the code objects in the SIMT emulator, against the
// reference, and the metadata of the code objects.

#include <gtest/gtest.h>

#include <string>

#include "src/codegen/amdgpu/code_object.h"
#include "src/codegen/codegen.h"
#include "src/schedule/launch.h"
#include "src/templates/limits.h"
#include "tests/templates/default_configs.h"

namespace tilewright {
namespace {

struct AmdCase {
  const char* target;
  const char* workload;
  const char* epilogue;
};
constexpr AmdCase kAmdCases[] = {
    {"rocm -model=gfx906", "dense(float32[40,48]MK,float32[24,48]NK)->float32",
     "add(channel:float32);relu"},
    {"rocm -model=gfx906", "dense(int8[8,32]MK,int8[24,32]NK)->int32",
     "add(channel:int32);shift_right(4);clip(-127,127);cast(int8)"},
    {"rocm -mcpu=gfx1100", "batch_matmul(float16[2,8,24]BMK,float16[2,12,24]BNK)->float16", "relu"},
    {"rocm -model=gfx900",
     "conv2d(float32[1,8,8,8]NCHW,float32[12,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);sigmoid"},
    {"rocm -model=gfx1030",
     "depthwise_conv2d(float32[1,16,9,9]NCHW,float32[16,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g16)->"
     "float32",
     ""},
};

class AmdTemplates : public testing::TestWithParam<AmdCase> {};

TEST_P(AmdTemplates, DefaultConfigsEqualTheReference) {
  const Target target = *Target::Parse(GetParam().target);
  const auto inspect = [&](const Program& program) {
    const auto code = Generate({program}, target, Emit::kObject);
    ASSERT_TRUE(code.ok()) << code.status().message();
    const auto resources = ResourcesOfCodeObject(*code);
    ASSERT_TRUE(resources.ok()) << resources.status().message();
    ASSERT_EQ(resources->size(), PlanLaunches(program).launches.size());
    for (const AmdKernelResources& one : *resources) {
      EXPECT_EQ(one.vector_spills, 0) << one.kernel;
      EXPECT_EQ(one.private_bytes, 0) << one.kernel;
      EXPECT_LE(one.local_bytes, 64 << 10) << one.kernel;
      EXPECT_LE(one.vector_registers, 128) << one.kernel;
    }
  };
  ExpectDefaultConfigsRight(target, GetParam().workload, GetParam().epilogue, inspect);
}
INSTANTIATE_TEST_SUITE_P(Small, AmdTemplates, testing::ValuesIn(kAmdCases));

TEST(AmdLimits, BlocksHaveTheMemoryAndTheThreadsOfTheTarget) {
  const auto limits = [](const char* target) {
    return LowerLimitsFor(*Target::Parse(target)).launch;
  };
  EXPECT_EQ(limits("rocm -model=gfx906").shared_bytes, 64 << 10);
  EXPECT_EQ(limits("rocm -model=gfx906").threads_per_block, 1024);
  EXPECT_EQ(limits("rocm -model=gfx906").block[2], 1024);
  EXPECT_EQ(limits("rocm -model=gfx906 -max_num_threads=256").threads_per_block, 256);
  EXPECT_EQ(limits("rocm -model=gfx906 -max_num_threads=4096").threads_per_block, 1024);
}

}  // namespace
}  // namespace tilewright
