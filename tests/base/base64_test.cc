#include "src/base/base64.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::HasSubstr;

std::vector<std::byte> BytesOf(std::string_view text) {
  std::vector<std::byte> bytes;
  for (char c : text) bytes.push_back(std::byte(c));
  return bytes;
}

TEST(Base64, EncodesTheExamplesOfItsDefinition) {
  const std::pair<const char*, const char*> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : examples) {
    EXPECT_EQ(EncodeBase64(BytesOf(plain)), text);
    const auto decoded = DecodeBase64(text);
    ASSERT_TRUE(decoded.ok()) << text;
    EXPECT_EQ(*decoded, BytesOf(plain));
  }
}

TEST(Base64, EveryByteSurvives) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 1000; ++i) bytes.push_back(std::byte(i * 7 & 255));
  const auto decoded = DecodeBase64(EncodeBase64(bytes));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, bytes);
}

TEST(Base64, RefusesOtherTexts) {
  EXPECT_THAT(DecodeBase64("Zg=").status().message(), HasSubstr("multiple of 4"));
  EXPECT_THAT(DecodeBase64("Zg!=").status().message(), HasSubstr("position 2"));
  EXPECT_THAT(DecodeBase64("=Zg=").status().message(), HasSubstr("position 0"));
}

}  // namespace
}  // namespace tilewright
