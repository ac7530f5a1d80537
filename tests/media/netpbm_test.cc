#include "src/media/netpbm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ImageTest, ReadsColoursAndGreysAsBytesAndText) {
  auto colour =
      ParseNetpbm(std::string("P6\n# two pixels\n2 1\n255\n\xFF\x00\x00\x00\x80\xFF", 30));
  ASSERT_TRUE(colour.ok()) << colour.status().message();
  EXPECT_EQ(colour->type(), (TensorType{{1, 2, 3}, kUInt8}));
  EXPECT_THAT(colour->As<std::uint8_t>(), ElementsAre(255, 0, 0, 0, 128, 255));
  auto grey = ParseNetpbm("P2 3 1 255\n0 17 # two of three\n255\n");
  ASSERT_TRUE(grey.ok()) << grey.status().message();
  EXPECT_EQ(grey->type(), (TensorType{{1, 3, 1}, kUInt8}));
  EXPECT_THAT(grey->As<std::uint8_t>(), ElementsAre(0, 17, 255));
}

TEST(ImageTest, RefusesWhatItCannotRead) {
  const auto message = [](const char* bytes) { return ParseNetpbm(bytes).status().message(); };
  EXPECT_THAT(message("\x89PNG"), HasSubstr("P2, P3, P5 or P6"));
  EXPECT_THAT(message("P4 8 1\nx"), HasSubstr("P2, P3, P5 or P6"));
  EXPECT_THAT(message("P5 2 2 255\nabc"), HasSubstr("3 bytes of samples, expected 4"));
  EXPECT_THAT(message("P5 2 2 65535\nabcdefgh"), HasSubstr("expected a maximum of 255"));
  EXPECT_THAT(message("P5 0 2 255\n"), HasSubstr("sides of the image"));
  EXPECT_THAT(message("P5 99999999999999999999 2 255\n"), HasSubstr("sides of the image"));
  EXPECT_THAT(message("P2 2 1 255\n1 256\n"), HasSubstr("more than 255"));
  EXPECT_THAT(message("P2 2 1 255\n1 x\n"), HasSubstr("samples end early"));
}

}  // namespace
}  // namespace tilewright
