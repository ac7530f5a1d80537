#include "src/media/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/base64.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two deflated arrays, as Python's zipfile writes them.
std::string DeflatedNpz() {
  auto bytes = DecodeBase64(
      "UEsDBBQAAAAIAAAAIQCkCjy/WAAAAJgAAAAFAAAAeC5ucHmb7BfqGxDJyFDGUK2eklqcXKRupaBuk2airqOgnpZf"
      "VFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RpGOgrGOpo6CrUK5AIuBjA4YA8iGBgcHBgYGoB4gQMAUEsDBBQAAAAI"
      "AAAAIQA7hYw8SgAAAIQAAAAFAAAAeS5ucHmb7BfqGxDJxFDCwMBQrZ6SWpxcpG6loF5Taqiuo6Cell9UUpSYF59f"
      "lJIKEndLzClOBYoXZyQWpAL5GiY6mjoKtQpkAy4Gxob/AFBLAQIUAxQAAAAIAAAAIQCkCjy/WAAAAJgAAAAFAAAA"
      "AAAAAAAAAACAAQAAAAB4Lm5weVBLAQIUAxQAAAAIAAAAIQA7hYw8SgAAAIQAAAAFAAAAAAAAAAAAAACAAXsAAAB5"
      "Lm5weVBLBQYAAAAAAgACAGYAAADoAAAAAAA=");
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

TEST(NpzTest, ReadsDeflatedArrays) {
  auto arrays = ParseNpz(DeflatedNpz());
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  ASSERT_EQ(arrays->size(), 2U);
  const Tensor& x = arrays->at("x");
  EXPECT_EQ(x.type(), (TensorType{{2, 3}, kFloat32}));
  EXPECT_THAT(x.As<float>(), ElementsAre(0, 1.5F, -2, 3, 4, 5));
  EXPECT_THAT(arrays->at("y").As<std::uint8_t>(), ElementsAre(0, 1, 128, 255));
}

TEST(NpzTest, RefusesDamage) {
  const std::string whole = DeflatedNpz();
  EXPECT_THAT(ParseNpz("PK").status().message(), HasSubstr("not a ZIP archive"));
  std::string damaged = whole;
  damaged[60] = static_cast<char>(damaged[60] ^ 0x55);
  EXPECT_THAT(ParseNpz(damaged).status().message(), HasSubstr("member x.npy: damaged"));
  std::string moved = whole;
  moved[whole.size() - 6] = 1;  // in the directory
  EXPECT_THAT(ParseNpz(moved).status().message(), HasSubstr("damaged ZIP directory"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseNpz(whole.substr(0, size)).ok()) << size;
  }
}

// Shared contents would let a file of a few megabytes expand to terabytes.
TEST(NpzTest, RefusesMembersThatShareTheirContents) {
  const std::string whole = DeflatedNpz();
  const std::size_t end = whole.size() - 22;
  const auto directory = static_cast<unsigned char>(whole[end + 16]);
  constexpr int kTimes = 20;
  std::string shared = whole.substr(0, directory);
  for (int i = 0; i < kTimes; ++i) shared += whole.substr(directory, end - directory);
  shared += whole.substr(end);
  shared[shared.size() - 22 + 10] = 2 * kTimes;
  EXPECT_THAT(ParseNpz(shared).status().message(), HasSubstr("members share their contents"));
}

}  // namespace
}  // namespace tilewright
