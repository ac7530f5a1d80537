#include "src/target/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilewright {
namespace {

struct FeatureCase {
  const char* name;
  const char* target;
  int lanes, registers;
  bool int8_dot;
};
class FeaturesTest : public testing::TestWithParam<FeatureCase> {};

TEST_P(FeaturesTest, FollowFromNameAndAttributes) {
  const FeatureCase& c = GetParam();
  auto features = FeaturesOf(*Target::Parse(c.target));
  ASSERT_TRUE(features.ok()) << features.status().message();
  EXPECT_EQ(features->float_lanes(), c.lanes);
  EXPECT_EQ(features->vector_registers(), c.registers);
  EXPECT_EQ(features->has_int8_dot(), c.int8_dot);
}
INSTANTIATE_TEST_SUITE_P(
    Cpus, FeaturesTest,
    testing::Values(
        FeatureCase{"None", "llvm", 4, 16, false},
        FeatureCase{"CoreAvx2", "llvm -mcpu=core-avx2", 8, 16, false},
        FeatureCase{"SkylakeX", "llvm -mcpu=skylake-avx512", 16, 32, false},
        FeatureCase{"SkylakeXPlusVnni", "llvm -mcpu=skylake-avx512 -mattr=+avx512vnni", 16, 32,
                    true},
        FeatureCase{"CascadeLake", "llvm -mcpu=cascadelake", 16, 32, true},
        FeatureCase{"CascadeLakeLess", "llvm -mcpu=cascadelake -mattr=-avx512vnni", 16, 32, false},
        FeatureCase{"CascadeLakeNarrow", "llvm -mcpu=cascadelake -mattr=-avx512f", 8, 16, false},
        FeatureCase{"AvxVnni", "llvm -mcpu=haswell -mattr=+avxvnni", 8, 16, true},
        FeatureCase{"HalfAvx512", "llvm -mcpu=haswell -mattr=+avx512f", 8, 16, false},
        FeatureCase{"AllAvx512", "llvm -mattr=+avx512f,+avx512bw,+avx512dq,+avx512vl", 16, 32,
                    false},
        FeatureCase{"Arm", "llvm -mtriple=aarch64-linux-gnu", 4, 32, false},
        FeatureCase{"ArmDot", "llvm -mtriple=aarch64-linux-gnu -mattr=+neon,+dotprod", 4, 32,
                    true}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(FeaturesTest, VectorsOf512BitsAreSplitByProcessorsThatHaveThem) {
  const auto splits = [](const char* target) {
    return FeaturesOf(*Target::Parse(target))->double_pumped_512;
  };
  EXPECT_TRUE(splits("llvm -mcpu=znver4"));
  EXPECT_FALSE(splits("llvm -mcpu=znver4 -mattr=-avx512f"));
  EXPECT_FALSE(splits("llvm -mcpu=znver5"));
  EXPECT_FALSE(splits("llvm -mcpu=sapphirerapids"));
}

TEST(FeaturesTest, TileRegistersAreThoseOfAnInstructionSetForEachType) {
  const auto of = [](const char* target) { return *FeaturesOf(*Target::Parse(target)); };
  EXPECT_TRUE(of("llvm -mcpu=sapphirerapids").amx_int8);
  EXPECT_TRUE(of("llvm -mcpu=sapphirerapids").amx_bf16);
  EXPECT_FALSE(of("llvm -mcpu=sapphirerapids -mattr=-amx-bf16").amx_bf16);
  EXPECT_FALSE(of("llvm -mcpu=cooperlake").amx_int8);
  EXPECT_TRUE(of("llvm -mcpu=cooperlake -mattr=+amx-tile,+amx-int8").amx_int8);
  EXPECT_FALSE(of("llvm -mcpu=cooperlake -mattr=+amx-tile,+amx-int8").amx_bf16);
  const Target with = *Target::Parse("llvm -mcpu=sapphirerapids"),
               without = *Target::Parse("llvm -mcpu=cooperlake");
  EXPECT_TRUE(IsCodeCompatible(without, with));
  EXPECT_FALSE(IsCodeCompatible(with, without));
}

TEST(FeaturesTest, UnknownProcessorIsAnError) {
  auto features = FeaturesOf(*Target::Parse("llvm -mcpu=quantum"));
  ASSERT_FALSE(features.ok());
  EXPECT_EQ(features.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(features.status().message().find("'quantum'"), std::string::npos);
}

TEST(FeaturesTest, HostIsKnown) {
  auto features = FeaturesOf(*Target::Parse("native"));
  ASSERT_TRUE(features.ok()) << features.status().message();
  const DeviceFingerprint host = ProbeHostCpu();
  const auto has = [&host](const char* f) { return std::ranges::count(host.isa, f) > 0; };
  EXPECT_EQ(features->avx512_vnni, features->avx512 && has("avx512vnni"));
  EXPECT_EQ(features->avx2, has("avx2"));
}

TEST(DeviceFingerprintTest, RoundTrips) {
  const DeviceFingerprint device{"cpu", "Some \"CPU\"", {"avx2", "fma"}, 32768, 1 << 20, 1 << 24,
                                 4,     "microcode 7"};
  auto again = DeviceFingerprint::Parse(device.ToString());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, device);
  auto host = DeviceFingerprint::Parse(ProbeHostCpu().ToString());
  ASSERT_TRUE(host.ok()) << host.status().message();
  EXPECT_EQ(*host, ProbeHostCpu());
}

TEST(GenericCpuFor, HasWhatTheCodeMayUse) {
  const auto any = [](const char* target) { return GenericCpuFor(*Target::Parse(target)); };
  const auto board = any("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76");
  ASSERT_TRUE(board.ok()) << board.status().message();
  EXPECT_TRUE(board->is_generic());
  EXPECT_EQ(board->isa, (std::vector<std::string>{"dotprod", "neon"}));
  EXPECT_EQ(any("llvm -mtriple=armv7l-linux-gnueabihf")->isa, std::vector<std::string>{"neon"});
  EXPECT_FALSE(any("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-b1").ok());
  EXPECT_FALSE(ProbeHostCpu().is_generic());
}

TEST(DeviceFingerprintTest, BadTextIsRefused) {
  for (const char* text : {"", "[]", "{}", R"({"kind": 1})", R"({"kind":"cpu","model":"m"})"}) {
    EXPECT_FALSE(DeviceFingerprint::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tilewright
