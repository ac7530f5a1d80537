// The runner of single kernels on a GPU, with the fake driver.
#include "tests/templates/device_kernel.h"

#include <gmock/gmock.h>

#include <optional>

#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/compiler/fake_gpu.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

class DeviceKernel : public testing::Test {
 protected:
  void SetUp() override {
    const Target target = *Target::Parse("cuda -arch=sm_80");
    workload_ = *Workload::Parse("dense(float32[4,16]MK,float32[32,16]NK)->float32");
    const TemplateEntry* entry = BuiltInTemplates().Find("dense_small_batch.cuda");
    kernel_.emplace(
        *entry->apply(workload_, {}, target, *entry->default_config(workload_, target)));
    plan_.target = target;
    plan_.kernels = {*Lower(kernel_->schedule, "kernel")};
    data_.emplace(MakeAnchorData(workload_, {}, 7));
    runner_ = *DeviceKernelRunner::Open(0, FAKE_CUDA);
  }
  void TearDown() override { ExecuteGpuKernelsBy(nullptr); }
  Result<Tensor> Run() {
    return RunProgram(workload_, {}, plan_.target, plan_.kernels[0], kernel_->layouts, *data_);
  }

  Workload workload_;
  std::optional<Kernel> kernel_;
  Plan plan_;
  std::optional<AnchorData> data_;
  std::unique_ptr<DeviceKernelRunner> runner_;
};

TEST_F(DeviceKernel, GivesWhatTheSimulatorGives) {
  const Tensor expected = *Run();
  const FakeGpu gpu(FAKE_CUDA, plan_);
  runner_->ExecuteAll();
  const Result<Tensor> result = Run();
  ASSERT_TRUE(result.ok()) << result.status().message() << gpu.problem();
  EXPECT_TRUE(Compare(*result, expected, 0.0).ok);
  EXPECT_EQ(gpu.counts().launches, 1);
}

TEST_F(DeviceKernel, AFaultBreaksTheContext) {
  FakeGpu gpu(FAKE_CUDA, plan_);
  runner_->ExecuteAll();
  gpu.FailNext();
  const Result<Tensor> result = Run();
  EXPECT_THAT(result.status().message(), HasSubstr("illegal memory access"));
  EXPECT_TRUE(runner_->broken());
}

/// Writes `context` elements after the result, or before it.
int WriteOutside(void* context, const char*, const unsigned*, const unsigned*, unsigned,
                 const std::uint64_t* arguments, int count) {
  auto* result = reinterpret_cast<float*>(arguments[count - 1]);
  result[*static_cast<int*>(context)] = 1;
  return 0;
}

TEST_F(DeviceKernel, WritesOutsideAreFound) {
  const SharedLibrary driver = *SharedLibrary::Open(FAKE_CUDA);
  const auto execute_by = reinterpret_cast<FakeExecuteBy>(driver.Symbol("fake_cuda_execute_by"));
  runner_->ExecuteAll();
  for (int at : {-1, 4 * 32, 4 * 32 + 63}) {
    execute_by(&WriteOutside, &at);
    EXPECT_THAT(Run().status().message(), HasSubstr("is not its own")) << at;
  }
  int inside = 5;
  execute_by(&WriteOutside, &inside);
  EXPECT_TRUE(Run().ok());
  execute_by(nullptr, nullptr);
}

}  // namespace
}  // namespace tilewright
