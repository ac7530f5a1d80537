#include "src/target/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

const std::string kFolder = std::string(TILEWRIGHT_SOURCE_DIR) + "/configs/targets";

TEST(Presets, EveryShippedBoardIsATargetThatCodeIsMadeFor) {
  const auto presets = ReadPresets(kFolder);
  ASSERT_TRUE(presets.ok()) << presets.status().message();
  EXPECT_GE(presets->size(), 12U);
  for (const TargetPreset& preset : *presets) {
    EXPECT_FALSE(preset.description.empty()) << preset.name;
    const auto target = Target::Parse(preset.target);
    ASSERT_TRUE(target.ok()) << preset.name;
    EXPECT_EQ(target->Option("device"), "arm_cpu") << preset.name;
    EXPECT_FALSE(target->Option("mtriple").empty()) << preset.name;
    const auto features = FeaturesOf(*target);
    ASSERT_TRUE(features.ok()) << preset.name << ": " << features.status().message();
    const bool wide = target->Option("mtriple").find("64") != std::string::npos;
    EXPECT_EQ(features->vector_registers(), wide ? 32 : 16) << preset.name;
  }
}

TEST(Presets, ABoardStandsForItsTarget) {
  const auto expanded = ExpandTarget(" rasp4b64 ", kFolder);
  ASSERT_TRUE(expanded.ok());
  EXPECT_THAT(*expanded, HasSubstr("-mtriple=aarch64-linux-gnu"));
  EXPECT_THAT(*expanded, HasSubstr("-mcpu=cortex-a72"));
}

TEST(Presets, ATargetOfAKnownModelTakesWhatItLacks) {
  const auto expanded =
      ExpandTarget("llvm -device=arm_cpu -model=rk3399 -mcpu=cortex-a53", kFolder);
  ASSERT_TRUE(expanded.ok());
  const auto target = Target::Parse(*expanded);
  EXPECT_EQ(target->Option("mtriple"), "aarch64-linux-gnu");
  EXPECT_EQ(target->Option("mcpu"), "cortex-a53") << "what was given stays";
}

TEST(Presets, OtherTextsStayAsTheyAre) {
  for (const char* text : {"native", "llvm -mcpu=haswell", "rasp99", "cuda -model=a100",
                           "llvm -model=rk3399 -mtriple=aarch64-linux-android", "", "{\"kind\":"}) {
    EXPECT_EQ(*ExpandTarget(text, kFolder), text);
  }
  EXPECT_EQ(*ExpandTarget("rasp4b", "/nowhere"), "rasp4b");
}

TEST(Presets, BadFilesAreRefusedWithTheReason) {
  const std::pair<const char*, const char*> files[] = {
      {"[]", "expected an object"},
      {R"({"target": "llvm", "traget": ""})", "unknown key 'traget'"},
      {R"({"target": 3})", "target: expected a text"},
      {R"({"description": "x"})", "target: empty"},
      {R"({"target": "llwm"})", "llwm"},
      {"{", "line 1"}};
  for (const auto& [text, words] : files) {
    const auto preset = ParsePreset(text, "board");
    EXPECT_EQ(preset.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(preset.status().message(), HasSubstr(words));
  }
}

}  // namespace
}  // namespace tilewright
