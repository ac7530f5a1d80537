#include "src/target/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct KeysCase {
  const char* name;
  const char* text;
  std::vector<std::string> keys;
  const char* model;
  std::string_view device;
};
class TargetKeysTest : public testing::TestWithParam<KeysCase> {};

TEST_P(TargetKeysTest, KeysAndModelAreAsAutotvmDerivesThem) {
  const KeysCase& c = GetParam();
  auto target = Target::Parse(c.text);
  ASSERT_TRUE(target.ok()) << target.status().message();
  EXPECT_EQ(target->keys(), c.keys);
  EXPECT_EQ(target->Option("model", "unknown"), c.model);
  EXPECT_EQ(target->device(), c.device);
}
INSTANTIATE_TEST_SUITE_P(
    Reference, TargetKeysTest,
    testing::Values(KeysCase{"Cuda", "cuda -model=1080ti", {"cuda", "gpu"}, "1080ti", "cuda"},
                    KeysCase{"Arm",
                             "llvm -device=arm_cpu -model=rk3399 -mtriple=aarch64 -mattr=+neon",
                             {"arm_cpu", "cpu"},
                             "rk3399",
                             "llvm"},
                    KeysCase{"Plain", "llvm -mcpu=skylake-avx512", {"cpu"}, "unknown", "llvm"},
                    KeysCase{"Mali",
                             "opencl -device=mali -model=rk3399",
                             {"mali", "opencl", "gpu"},
                             "rk3399",
                             "opencl"},
                    KeysCase{"Adreno",
                             "opencl -keys=adreno,opencl,gpu -device=adreno",
                             {"adreno", "opencl", "gpu"},
                             "unknown",
                             "opencl"},
                    KeysCase{"VtaPackage",
                             "ext_dev -device=vta -keys=cpu -model=pynq_1x16_i8w8a32_15_15_18_17",
                             {"cpu", "vta"},
                             "pynq_1x16_i8w8a32_15_15_18_17",
                             "vta"},
                    KeysCase{"VtaSimulator",
                             "ext_dev -device=vta -keys=vta,cpu -model=sim_1x16",
                             {"vta", "cpu"},
                             "sim_1x16",
                             "vta"},
                    KeysCase{"Vulkan", "vulkan -model=v1000", {"vulkan", "gpu"}, "v1000", ""}),
    [](const auto& tested) { return std::string(tested.param.name); });

struct TextCase {
  const char* name;
  const char* text;
  const char* canonical;
};
class TargetTextTest : public testing::TestWithParam<TextCase> {};

TEST_P(TargetTextTest, PrintsTheCanonicalTextAndReadsItBack) {
  auto target = Target::Parse(GetParam().text);
  ASSERT_TRUE(target.ok()) << target.status().message();
  EXPECT_EQ(target->ToString(), GetParam().canonical);
  auto again = Target::Parse(target->ToString());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *target);
}
INSTANTIATE_TEST_SUITE_P(
    Spellings, TargetTextTest,
    testing::Values(
        TextCase{"Sorted", "llvm -num-threads=2   -mcpu=haswell",
                 "llvm -mcpu=haswell -num-threads=2"},
        TextCase{"SpacedValue", "llvm -mcpu haswell --system-lib",
                 "llvm -mcpu=haswell -system-lib=1"},
        TextCase{"LegacyTriple", "llvm -target=aarch64-linux-gnu",
                 "llvm -mtriple=aarch64-linux-gnu"},
        TextCase{"EqualsInValue", "llvm -x=a=b", "llvm -x=a=b"},
        TextCase{"Json", R"({"kind": "llvm", "mattr": ["+neon", "+vfp4"], "link-params": true})",
                 "llvm -link-params=1 -mattr=+neon,+vfp4"}),
    [](const auto& tested) { return std::string(tested.param.name); });

struct BadCase {
  const char* name;
  const char* text;
  const char* message;
};
class TargetRejectTest : public testing::TestWithParam<BadCase> {};

TEST_P(TargetRejectTest, NamesTheToken) {
  auto target = Target::Parse(GetParam().text);
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(target.status().message(), HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Bad, TargetRejectTest,
    testing::Values(BadCase{"Empty", "  ", "empty"}, BadCase{"FormFeed", "\f", "empty"},
                    BadCase{"Kind", "lvm -mcpu=x", "'lvm'"},
                    BadCase{"Twice", "llvm -mcpu=a -mcpu=b", "-mcpu: given twice"},
                    BadCase{"NoDash", "llvm mcpu=a", "'mcpu=a'"},
                    BadCase{"NoName", "llvm -=a", "empty name"},
                    BadCase{"JsonKind", R"({"mcpu": "a"})", "without \"kind\""},
                    BadCase{"JsonValue", R"({"kind": "llvm", "mcpu": null})", "mcpu"},
                    BadCase{"JsonSpace", R"({"kind": "llvm", "model": "a b"})", "'a b'"},
                    BadCase{"JsonEquals", R"({"kind": "llvm", "a=b": 1})", "'a=b'"},
                    BadCase{"JsonDash", R"({"kind": "llvm", "-mcpu": "a"})", "'-mcpu'"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(TargetTest, RefusesWhatIsTooLongOncePrinted) {
  std::string text = "llvm";
  for (int i = 1000; text.size() < 4000; ++i) text += " -" + std::to_string(i);
  EXPECT_THAT(Target::Parse(text).status().message(), HasSubstr("printed with"));
}

TEST(TargetTest, ThreadsAreOneUnlessSaid) {
  EXPECT_EQ(Target::Parse("llvm")->num_threads(), 1);
  EXPECT_EQ(Target::Parse("llvm -num-threads=4")->num_threads(), 4);
  EXPECT_EQ(Target::Parse("llvm -num-threads=many")->num_threads(), 1);
  EXPECT_EQ(Target::Parse("llvm -num-threads=0")->num_threads(), 1);
}

TEST(TargetTest, NativeIsExplicit) {
  auto target = Target::Parse("native -num-threads=2");
  ASSERT_TRUE(target.ok()) << target.status().message();
  EXPECT_EQ(target->kind_name(), "llvm");
  EXPECT_FALSE(target->Option("mcpu").empty());
  EXPECT_EQ(target->num_threads(), 2);
}

}  // namespace
}  // namespace tilewright
