// Runners accept every kernel that builders produce.

#include "measure/kernel_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/device/builders.h"
#include "src/base/files/file.h"
#include "src/templates/registry.h"

namespace tilewright::measure {
namespace {

TEST(KernelCheck, TakesWhatBuildersMake) {
  const TemplateRegistry templates = TemplateRegistry::BuiltIn();
  const auto folder = ScopedTempDir::Create("tilewright-kernel-check");
  ASSERT_TRUE(folder.ok());
  const std::pair<const char*, const char*> tasks[] = {
      {"cuda -arch=sm_80 -libs=cudnn,cublas", "dense(float32[8,64]MK,float32[40,64]NK)->float32"},
      {"cuda -arch=sm_80 -libs=cudnn,cublas", "dense(int8[8,64]MK,int8[40,64]NK)->int32"},
      {"cuda -arch=sm_80 -libs=cudnn,cublas",
       "conv2d(float32[1,8,12,12]NCHW,float32[16,8,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32"},
      {"cuda -arch=sm_80 -libs=cudnn,cublas",
       "conv2d(float32[2,8,12,12]NCHW,float32[16,4,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g2)->float32"},
      {"llvm", "dense(float32[8,64]MK,float32[40,64]NK)->float32"},
      {"llvm", "softmax(float32[8,64])->float32"}};
  int built = 0, calls = 0;
  for (const auto& [target, key] : tasks) {
    auto workload = Workload::Parse(key);
    if (!workload.ok()) continue;
    BuildOrder order;
    order.candidate.task = {*workload, *Target::Parse(target)};
    order.path = folder->path() + "/artifact.so";
    for (const TemplateEntry* entry : templates.For(*workload, order.candidate.task.target)) {
      order.candidate.template_key = entry->key;
      order.candidate.config = *entry->default_config(*workload, order.candidate.task.target);
      const BuildResult one = BuildFor(*entry, order);
      if (one.outcome != Outcome::kOk) continue;
      const Status taken = CheckKernel(one.kernel);
      EXPECT_TRUE(taken.ok()) << entry->key << " of " << key << ": " << taken.message();
      EXPECT_EQ(one.kernel.symbol, kCandidateSymbol);
      for (const GridLaunch& launch : one.kernel.launches) {
        EXPECT_TRUE(launch.kernel.starts_with(kCandidateSymbol)) << launch.kernel;
        calls += launch.library.file.empty() ? 0 : 1;
      }
      ++built;
    }
  }
  EXPECT_GE(built, 8);
  EXPECT_GE(calls, 3) << "of libraries";
}

/// CUDA has a limit of 64 threads along z, which OpenCL lacks: a record for Adreno has 251.
TEST(KernelCheck, GroupsOfOpenClMayBeLongAlongZ) {
  KernelSpec kernel;
  kernel.target = *Target::Parse("opencl -device=adreno");
  kernel.launches = {{"kernel", {1, 1, 1}, {1, 1, 251}, 0, {}}};
  EXPECT_TRUE(CheckKernel(kernel).ok()) << CheckKernel(kernel).message();
  kernel.launches[0].block[2] = 1025;
  EXPECT_FALSE(CheckKernel(kernel).ok());
  kernel.launches[0].block[2] = 251;
  kernel.target = *Target::Parse("cuda -arch=sm_80");
  EXPECT_FALSE(CheckKernel(kernel).ok());
}

}  // namespace
}  // namespace tilewright::measure
