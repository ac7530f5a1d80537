#include "src/media/image_decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/files/file.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

std::string BytesOf(const std::string& name) {
  auto bytes = ReadFile(TILEWRIGHT_SOURCE_DIR "/tests/fuzz/corpus/data/" + name);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? *std::move(bytes) : std::string();
}

Tensor ImageIn(const std::string& name) {
  auto image = DecodeImage(BytesOf(name));
  EXPECT_TRUE(image.ok()) << name << ": " << image.status().message();
  return image.ok() ? *std::move(image) : Tensor(TensorType{{1, 1, 1}, kUInt8});
}

std::vector<int> SamplesOf(const Tensor& image) {
  const auto samples = image.As<std::uint8_t>();
  return {samples.begin(), samples.end()};
}

TEST(PictureTest, ReadsJpeg) {  // left half 200, 30, 40, right half 20, 60, 220
  const Tensor image = ImageIn("colour.jpg");
  ASSERT_THAT(image.shape(), ElementsAre(8, 16, 3));
  const std::vector<int> samples = SamplesOf(image);
  const std::vector<int> left(samples.begin(), samples.begin() + 3);
  const std::vector<int> right(samples.end() - 3, samples.end());
  const auto near = [](int a, int b) { return std::abs(a - b) <= 2; };
  EXPECT_TRUE(near(left[0], 200) && near(left[1], 30) && near(left[2], 40));
  EXPECT_TRUE(near(right[0], 20) && near(right[1], 60) && near(right[2], 220));
}

TEST(PictureTest, ReadsPng) {
  const Tensor grey = ImageIn("grey.png");
  EXPECT_THAT(grey.shape(), ElementsAre(2, 3, 1));
  EXPECT_THAT(SamplesOf(grey), ElementsAre(10, 200, 30, 40, 50, 60));
  EXPECT_THAT(ImageIn("palette.png").shape(), ElementsAre(1, 3, 3));
}

TEST(PictureTest, DropsTransparency) {
  EXPECT_THAT(SamplesOf(ImageIn("alpha.png")), ElementsAre(1, 2, 3, 250, 128, 7));
}

TEST(PictureTest, SaysWhatIsWrongWithAFile) {
  const auto message = [](const std::string& bytes) {
    return DecodeImage(bytes).status().message();
  };
  EXPECT_THAT(message(BytesOf("inks.jpg")), HasSubstr("CMYK"));
  const std::string jpeg = BytesOf("colour.jpg"), png = BytesOf("grey.png");
  EXPECT_THAT(message(jpeg.substr(0, 20)), HasSubstr("JPEG: "));
  EXPECT_THAT(message(jpeg.substr(0, jpeg.size() - 20)), HasSubstr("JPEG: "));
  EXPECT_THAT(message(png.substr(0, 40)), HasSubstr("PNG: "));
  std::string wide = png;
  wide[18] = '\x7F';  // one of the four bytes of the width, whose checksum is then wrong
  EXPECT_FALSE(DecodeImage(wide).ok());
}

Tensor Ramp() {  // 7 * (7 * row + column)
  Tensor image(TensorType{{5, 7, 1}, kUInt8});
  for (std::int64_t i = 0; i < 35; ++i) image.Set(i, static_cast<double>(7 * i));
  return image;
}

// Expected values from another implementation of the same filter.
TEST(PictureTest, AveragesWhereItShrinks) {
  auto small = FitImage(Ramp(), 2, 3, 1, ImageFit::kStretch);
  ASSERT_TRUE(small.ok()) << small.status().message();
  EXPECT_THAT(small->As<float>(),
              Pointwise(FloatNear(1e-3F), {55.F, 70.F, 85.F, 153.F, 168.F, 183.F}));
}

TEST(PictureTest, InterpolatesWhereItGrows) {
  auto large = FitImage(Ramp(), 8, 10, 1, ImageFit::kStretch);
  ASSERT_TRUE(large.ok()) << large.status().message();
  EXPECT_THAT(large->As<float>().first(10),
              Pointwise(FloatNear(1e-3F),
                        {0.F, 3.85F, 8.75F, 13.65F, 18.55F, 23.45F, 28.35F, 33.25F, 38.15F, 42.F}));
}

TEST(PictureTest, CropsTheMiddle) {
  Tensor image(TensorType{{8, 16, 1}, kUInt8});  // each column has one value
  for (std::int64_t i = 0; i < 128; ++i) image.Set(i, static_cast<double>(i % 16));
  auto middle = FitImage(image, 7, 7, 3, ImageFit::kCrop);  // 7/8 of the height: no scaling
  ASSERT_TRUE(middle.ok()) << middle.status().message();
  ASSERT_THAT(middle->shape(), ElementsAre(7, 7, 3));
  for (std::int64_t column = 0; column < 7; ++column) {
    for (std::int64_t c = 0; c < 3; ++c) {  // gray is repeated
      EXPECT_FLOAT_EQ(static_cast<float>(middle->At(column * 3 + c)),
                      static_cast<float>(4 + column));
    }
  }
}

TEST(PictureTest, RefusesOtherSizesUnlessTold) {
  const auto exact = FitImage(Ramp(), 7, 5, 1, ImageFit::kExact);
  ASSERT_FALSE(exact.ok());
  EXPECT_THAT(exact.status().message(), HasSubstr("--image-fit"));
  EXPECT_TRUE(FitImage(Ramp(), 5, 7, 1, ImageFit::kExact).ok());
  const Tensor colour(TensorType{{5, 7, 3}, kUInt8});
  EXPECT_FALSE(FitImage(colour, 5, 7, 1, ImageFit::kExact).ok());
}

}  // namespace
}  // namespace tilewright
