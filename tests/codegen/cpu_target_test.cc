#include "src/codegen/cpu_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/target/presets.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

Status Check(const std::string& text) {
  const auto target = Target::Parse(text);
  return target.ok() ? CheckCpuTarget(*target) : target.status();
}

TEST(CpuTarget, TheBackEndKnowsEveryWordOfTheShippedBoards) {
  const auto boards = ReadPresets(std::string(TILEWRIGHT_SOURCE_DIR) + "/configs/targets");
  ASSERT_TRUE(boards.ok()) << boards.status().message();
  for (const TargetPreset& board : *boards) {
    EXPECT_TRUE(Check(board.target).ok()) << board.name << ": " << Check(board.target).message();
  }
  EXPECT_TRUE(Check("native").ok()) << Check("native").message();
}

TEST(CpuTarget, NamesWhatTheBackEndDoesNotKnow) {
  const std::pair<const char*, const char*> targets[] = {
      {"llvm -mtriple=x86_64-linux-gnu -mcpu=cortex-a72", "-mcpu=cortex-a72: not a processor of"},
      {"llvm -mtriple=aarch64-linux-gnu -mcpu=haswell", "-mcpu=haswell: not a processor of"},
      {"llvm -mtriple=aarch64-linux-gnu -mattr=+neon,+dotprd", "-mattr=+dotprd: expected"},
      {"llvm -mtriple=aarch64-linux-gnu -mattr=neon", "-mattr=neon: expected"},
      {"llvm -mtriple=x86_64-linux-gnu -mattr=+avx2,+neon", "-mattr=+neon: expected"}};
  for (const auto& [text, words] : targets) {
    const Status status = Check(text);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
  EXPECT_EQ(Check("llvm -mtriple=vax-linux-gnu").code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace tilewright
