// AutoTVM's templates for Arm CPUs: configs of each run under qemu-user, for 64 and 32 bits.
// Without an emulator, C library or C compiler, these tests are skipped by name.

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/registry.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/emulated_kernel.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {
namespace {

constexpr const char* kAarch64 = "llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+neon";
constexpr const char* kArmv7 = "llvm -device=arm_cpu -mtriple=armv7l-linux-gnueabihf -mattr=+neon";
constexpr const char* kArmConv =
    "conv2d(float32[1,12,8,8]NCHW,float32[16,12,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";

struct ArmCase {
  const char *name, *key, *workload;
};
void PrintTo(const ArmCase& c, std::ostream* out) { *out << c.name; }

class ArmTemplate : public testing::TestWithParam<ArmCase> {
 protected:
  /// Runs the default config and a random one, and compares with the reference.
  static void CheckOn(const char* target_text) {
    const Target target = *Target::Parse(target_text);
    if (const std::string why = EmulatorMissingFor(target); !why.empty()) GTEST_SKIP() << why;
    const TemplateEntry& entry = *BuiltInTemplates().Find(GetParam().key);
    const Workload workload = *Workload::Parse(GetParam().workload);
    ASSERT_EQ(entry.refuses(workload, target), "");
    const AnchorData data = MakeAnchorData(workload, {}, 5);
    const auto expected = EvaluateAnchor(workload, {}, data.data, data.weight, {});
    ASSERT_TRUE(expected.ok());
    const auto space = entry.define_space(workload, target);
    ASSERT_TRUE(space.ok());
    const auto size = static_cast<std::uint64_t>(space->size());
    ExecuteForeignKernelsBy(&RunEmulatedKernel);
    for (const Config& config : {*entry.default_config(workload, target),
                                 space->At(static_cast<std::int64_t>(Random(3).Below(size)))}) {
      SCOPED_TRACE(config.ToString());
      const auto kernel = entry.apply(workload, {}, target, config);
      ASSERT_TRUE(kernel.ok()) << kernel.status().message();
      const auto result = RunKernel(workload, {}, target, *kernel, data);
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_TRUE(Compare(*result, *expected).ok);
    }
    ExecuteForeignKernelsBy({});
  }
};

TEST_P(ArmTemplate, IsRightInEmulated64Bits) { CheckOn(kAarch64); }
TEST_P(ArmTemplate, IsRightInEmulated32Bits) { CheckOn(kArmv7); }

INSTANTIATE_TEST_SUITE_P(
    All, ArmTemplate,
    testing::Values(
        ArmCase{"SpatialPack", "conv2d_nchw_spatial_pack.arm_cpu",
                "conv2d(float32[1,6,12,12]NCHW,float32[16,6,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->"
                "float32"},
        ArmCase{"SpatialPackInt8", "conv2d_nchw_spatial_pack.arm_cpu",
                "conv2d(int8[1,6,12,12]NCHW,int8[16,6,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32"},
        ArmCase{"Winograd", "conv2d_nchw_winograd.arm_cpu", kArmConv},
        ArmCase{"Transpose", "conv2d_transpose_nchw.arm_cpu",
                "conv2d_transpose(float32[1,6,4,4]NCHW,float32[6,8,4,4]IOHW,s2x2,p1x1x1x1,d1x1,g1,"
                "o0x0)->float32"},
        ArmCase{"Depthwise", "depthwise_conv2d_nchw.arm_cpu",
                "depthwise_conv2d(float32[1,16,12,12]NCHW,float32[16,1,3,3]OIHW,s2x2,p1x1x1x1,d1x1,"
                "g16)->float32"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(ArmTemplates, ServeOnlyArm) {
  const Workload conv = *Workload::Parse(kArmConv);
  const TemplateEntry& entry = *BuiltInTemplates().Find("conv2d_nchw_spatial_pack.arm_cpu");
  EXPECT_EQ(entry.refuses(conv, *Target::Parse("llvm -mtriple=armv7a-linux-eabi")), "");
  EXPECT_EQ(entry.refuses(conv, *Target::Parse("llvm -mtriple=arm64-linux-android")), "");
  EXPECT_EQ(entry.refuses(conv, *Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")),
            "only Arm CPUs and targets with -device=arm_cpu");
  // Untuned operators keep the templates for all CPUs.
  EXPECT_EQ(BuiltInTemplates().For(conv, *Target::Parse(kAarch64)).front()->key,
            "conv2d_winograd.cpu");
}

TEST(ArmTemplates, BlocksThatDoNotDivideTheResultAreRefused) {
  const TemplateEntry& entry = *BuiltInTemplates().Find("conv2d_nchw_spatial_pack.arm_cpu");
  const Workload conv = *Workload::Parse(kArmConv);
  const Target target = *Target::Parse(kAarch64);
  for (const auto& [tile, inner] : {std::pair{"tile_co", 3}, {"tile_oh", 5}, {"tile_ow", 16}}) {
    Config config = *entry.default_config(conv, target);
    for (auto& [name, value] : config.values) {
      if (name == tile) value.value = std::vector<std::int64_t>{1, inner};
    }
    EXPECT_FALSE(entry.define_space(conv, target)->Locate(config).ok()) << tile;
    EXPECT_FALSE(entry.apply(conv, {}, target, config).ok()) << tile;
  }
}

TEST(ArmTemplates, DepthwiseRefusesLoopsThatAutotvmDoesNotUnroll) {
  const TemplateEntry& entry = *BuiltInTemplates().Find("depthwise_conv2d_nchw.arm_cpu");
  const Workload conv = *Workload::Parse(
      "depthwise_conv2d(float32[1,16,20,20]NCHW,float32[16,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g16)->"
      "float32");
  const Target target = *Target::Parse(kAarch64);
  Config config = *entry.default_config(conv, target);
  for (auto& [name, value] : config.values) {
    if (name == "tile_w") value.value = std::vector<std::int64_t>{1, 20};
  }
  const auto kernel = entry.apply(conv, {}, target, config);
  EXPECT_EQ(kernel.status().message(),
            "tile_w: 20 unrolled iterations, AutoTVM unrolls at most 16");
}

TEST(ArmTemplates, SpatialPackOfOtherLayoutsIsRefused) {
  const Workload conv = *Workload::Parse(kArmConv);
  KernelLayouts layouts;
  layouts.spatial_pack = {4, 2, 2};
  EXPECT_FALSE(DefineAnchor(conv, {}, layouts).ok()) << "weights in their own layout";
  layouts.weight = "OIHW4o";
  EXPECT_TRUE(DefineAnchor(conv, {}, layouts).ok());
  layouts.spatial_pack.rows = 0;
  EXPECT_FALSE(DefineAnchor(conv, {}, layouts).ok()) << "blocks of channels, not depthwise";
  layouts.winograd_tile = 4;
  EXPECT_TRUE(DefineAnchor(conv, {}, layouts).ok());
  layouts.spatial_pack.columns = 3;
  EXPECT_TRUE(DefineAnchor(conv, {}, layouts).ok()) << "two zeros after four tiles";
  layouts.spatial_pack.rows = 1;
  EXPECT_FALSE(DefineAnchor(conv, {}, layouts).ok()) << "rows of Winograd tiles";
}

}  // namespace
}  // namespace tilewright
