#include "src/target/known_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/target/known_cpus.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

std::string Refused(const char* text) {
  const auto target = Target::Parse(text);
  EXPECT_TRUE(target.ok()) << "stored targets stay readable: " << text;
  return target.ok() ? CheckRequestedTarget(*target).message() : "";
}

TEST(KnownOptionsTest, UnknownOptionsAreRefusedWithTheNearestKnownOne) {
  EXPECT_THAT(Refused("llvm -threads=2"),
              HasSubstr("-threads: unknown; did you mean '-num-threads'?"));
  EXPECT_THAT(Refused("llvm -bogus=7"),
              HasSubstr("-bogus: unknown, expected one of -arch, -cycles"));
  EXPECT_THAT(Refused("llvm -mcpus=haswell"), HasSubstr("did you mean 'mcpu'?"));
  EXPECT_THAT(Refused("llvm -num-threads=two"), HasSubstr("expected a number from 1 to 1024"));
}

TEST(KnownOptionsTest, UnknownProcessorsAreRefused) {
  EXPECT_THAT(Refused("llvm -mcpu=rubbish"), HasSubstr("that LLVM knows"));
  EXPECT_THAT(Refused("llvm -mcpu=skylake-avx51"), HasSubstr("did you mean 'skylake-avx512'?"));
  EXPECT_THAT(Refused("llvm -mcpu=native"), HasSubstr("the target `native`, without -mcpu"));
  EXPECT_THAT(Refused("llvm -mtriple=aarch64-linux-gnu -mcpu=haswell"),
              HasSubstr("a processor of aarch64"));
}

TEST(KnownOptionsTest, TargetsOfLogsAndOfThisProgramAreTaken) {
  for (const char* text :
       {"native", "llvm -mcpu=znver4 -mattr=+avx2 -num-threads=2 -libs=dnnl", "llvm -mcpu=core2",
        "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", "llvm -mtriple=riscv64 -mcpu=any",
        "cuda -keys=cuda,gpu -arch=sm_75 -max_num_threads=1024 -thread_warp_size=32 -model=t4",
        "opencl -device=mali -model=rk3399 -texture_spatial_limit=16384",
        "llvm -device=arm_cpu -model=pixel2 -target=arm64-linux-android -mattr=+neon",
        "cuda -arch=sm_80 -tf32", "llvm -system-lib -link-params=0"}) {
    EXPECT_EQ(Refused(text), "") << text;
  }
}

TEST(KnownOptionsTest, HasTheProcessorsOfEveryArchitecture) {
  EXPECT_GT(KnownCpus("x86_64").size(), 100u);
  EXPECT_GT(KnownCpus("aarch64").size(), 50u);
  EXPECT_GT(KnownCpus("arm").size(), 80u);
  EXPECT_TRUE(KnownCpus("riscv64").empty());
}

}  // namespace
}  // namespace tilewright
