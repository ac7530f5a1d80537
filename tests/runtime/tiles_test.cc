// Permission for tile registers (AMX), as this machine gives it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/runtime/abi.h"
#include "src/target/cpu.h"

namespace tilewright {
namespace {

TEST(TilePermission, IsThatOfTheCpuAndSaysWhatItLacks) {
  const auto features = FeaturesOf(*Target::Parse("native"));
  ASSERT_TRUE(features.ok()) << features.status().message();
  const std::pair<std::int32_t, bool> cases[] = {
      {TW_TILES_INT8, features->amx_int8},
      {TW_TILES_BF16, features->amx_bf16},
      {TW_TILES_INT8 | TW_TILES_BF16, features->amx_int8 && features->amx_bf16}};
  for (const auto& [needs, has] : cases) {
    for (int again = 0; again < 2; ++again) {
      const char* problem = TwTilesProblem(needs);
      if (!has) {
        ASSERT_NE(problem, nullptr) << needs;
        EXPECT_THAT(problem, testing::HasSubstr("a CPU with AMX")) << needs;
      } else if (problem != nullptr) {
        EXPECT_THAT(problem, testing::HasSubstr("Linux refuses")) << needs;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
