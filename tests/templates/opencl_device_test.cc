// Kernels of the templates for CUDA as OpenCL C, on the OpenCL device of this machine (PoCL),
// against the reference. bench/simt_check --device opencl:0 does the same for random configs.

#include <gtest/gtest.h>

#include "tests/support/opencl.h"
#include "tests/templates/default_configs.h"
#include "tests/templates/device_kernel.h"

namespace tilewright {
namespace {

struct OpenClCase {
  const char* workload;
  const char* epilogue;
};
constexpr OpenClCase kOpenClCases[] = {
    {"dense(float32[40,48]MK,float32[24,48]NK)->float32", "add(channel:float32);relu"},
    {"dense(int8[8,32]MK,int8[24,32]NK)->int32",
     "add(channel:int32);shift_right(4);clip(-127,127);cast(int8)"},
    {"batch_matmul(float16[2,8,24]BMK,float16[2,12,24]BNK)->float16", "relu"},
    {"conv2d(float32[1,8,9,9]NCHW,float32[12,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);sigmoid"},
};

class OpenClTemplates : public testing::TestWithParam<OpenClCase> {};

TEST_P(OpenClTemplates, DefaultConfigsEqualTheReference) {
  if (const std::string why = WhyNoOpenCl(); !why.empty()) GTEST_SKIP() << why;
  auto device = DeviceKernelRunner::OpenOpenCl(0);
  ASSERT_TRUE(device.ok()) << device.status().message();
  (*device)->ExecuteAll();
  ExpectDefaultConfigsRight(*Target::Parse("opencl"), GetParam().workload, GetParam().epilogue);
  ExecuteGpuKernelsBy({});
}
INSTANTIATE_TEST_SUITE_P(Small, OpenClTemplates, testing::ValuesIn(kOpenClCases));

}  // namespace
}  // namespace tilewright
