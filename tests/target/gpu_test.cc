#include "src/target/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

struct CapabilityCase {
  const char* target;
  int capability;  // 0: rejected
  StatusCode code = StatusCode::kOk;
};

class CapabilityTest : public testing::TestWithParam<CapabilityCase> {};

TEST_P(CapabilityTest, ComesFromArchThenModel) {
  const auto capability = ComputeCapabilityOf(*Target::Parse(GetParam().target));
  EXPECT_EQ(capability.status().code(), GetParam().code) << capability.status().message();
  if (capability.ok()) {
    EXPECT_EQ(*capability, GetParam().capability);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Targets, CapabilityTest,
    testing::Values(CapabilityCase{"cuda -arch=sm_75", 75}, CapabilityCase{"cuda", 70},
                    CapabilityCase{"cuda -model=1080ti", 61},
                    CapabilityCase{"cuda -model=1080ti -arch=sm_90", 90},
                    CapabilityCase{"nvptx -arch=sm_80", 80},
                    CapabilityCase{"cuda -model=toaster", 0, StatusCode::kInvalidArgument},
                    CapabilityCase{"cuda -arch=75", 0, StatusCode::kInvalidArgument},
                    CapabilityCase{"cuda -arch=sm_x", 0, StatusCode::kInvalidArgument},
                    CapabilityCase{"cuda -arch=sm_35", 0, StatusCode::kUnsupported},
                    CapabilityCase{"llvm", 0, StatusCode::kInvalidArgument}));

TEST(GenericGpuFor, StandsForTheGenerationFromTheTargetOn) {
  const auto device = GenericGpuFor(*Target::Parse("cuda -arch=sm_87"));
  ASSERT_TRUE(device.ok());
  EXPECT_EQ(device->kind, "cuda");
  EXPECT_EQ(device->model, "");
  EXPECT_EQ(device->isa, (std::vector<std::string>{"sm_87", "sm_88", "sm_89"}));
  EXPECT_FALSE(GenericGpuFor(*Target::Parse("llvm")).ok());
}

TEST(LimitsOf, ABlockMayHaveMostOfAMultiprocessorsSharedMemory) {
  struct Case {
    int capability;
    std::int64_t kilobytes;
  };
  for (const auto& [capability, kilobytes] :
       {Case{61, 48}, Case{70, 96}, Case{72, 96}, Case{75, 64}, Case{80, 163}, Case{86, 99},
        Case{87, 163}, Case{89, 99}, Case{90, 227}, Case{100, 227}, Case{120, 99}}) {
    const MultiprocessorLimits limits = LimitsOf(capability);
    EXPECT_EQ(limits.block_shared_bytes, kilobytes * 1024) << capability;
    EXPECT_LE(limits.block_shared_bytes, limits.shared_bytes) << capability;
  }
}

TEST(Tf32Test, IsAllowedByTheFlagAlone) {
  for (const char* text : {"cuda -arch=sm_80 -tf32", "cuda -arch=sm_90 -tf32=1"}) {
    EXPECT_TRUE(AllowsTf32(*Target::Parse(text))) << text;
  }
  for (const char* text : {"cuda -arch=sm_80", "cuda -arch=sm_75 -tf32=0", "llvm -tf32"}) {
    EXPECT_FALSE(AllowsTf32(*Target::Parse(text))) << text;
  }
}

TEST(Tf32Test, OtherValuesAndOlderDevicesAreRefused) {
  for (const auto& [text, reason] :
       {std::pair("cuda -arch=sm_80 -tf32=false", "-tf32=false, expected -tf32 or 1"),
        std::pair("cuda -arch=sm_80 -tf32=2", "-tf32=2, expected"),
        std::pair("cuda -arch=sm_75 -tf32", "-tf32 on sm_75, expected -arch=sm_80 or newer"),
        std::pair("cuda -tf32", "-tf32 on sm_70, expected -arch=sm_80 or newer")}) {
    EXPECT_EQ(Target::Parse(text).status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(Target::Parse(text).status().message(), testing::HasSubstr(reason));
  }
}

TEST(AmdProcessorTest, ComesFromTheOptions) {
  const auto name = [](const char* target) {
    const auto processor = AmdProcessorOf(*Target::Parse(target));
    return processor.ok() ? std::string(processor->name) : processor.status().message();
  };
  EXPECT_EQ(name("rocm -model=gfx906"), "gfx906");
  EXPECT_EQ(name("rocm -mcpu=gfx90a -model=mi250x"), "gfx90a");
  EXPECT_EQ(name("rocm"), "gfx900");
  EXPECT_EQ(name("rocm -model=unknown"), "gfx900");
  EXPECT_EQ(
      name("rocm -model=mi50"),
      "-model=mi50: not a processor of AMD GPUs, expected gfx906, gfx90a, gfx1030 or the like "
      "(-mcpu names it beside another -model)");
  EXPECT_EQ(name("cuda"), "target kind cuda, expected rocm");
  EXPECT_FALSE(ComputeCapabilityOf(*Target::Parse("rocm -model=mi50")).ok());
}

TEST(AmdProcessorTest, HasTheLimitsOfItsFamily) {
  const auto limits = [](const char* target) { return *LimitsOf(*Target::Parse(target)); };
  EXPECT_EQ(limits("rocm -model=gfx906").threads, 2560);
  EXPECT_EQ(limits("rocm -model=gfx90a").threads, 2048);
  EXPECT_EQ(limits("rocm -model=gfx1030").threads, 1024);
  EXPECT_EQ(limits("rocm -model=gfx1030").block_shared_bytes, 64 << 10);
  EXPECT_EQ(limits("cuda -arch=sm_80").block_shared_bytes, 163 << 10);
  EXPECT_EQ(GenericGpuFor(*Target::Parse("rocm -model=gfx906"))->isa,
            std::vector<std::string>({"gfx906"}));
}

}  // namespace
}  // namespace tilewright
