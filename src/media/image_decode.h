#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Conversion of an image to the size of a network's input.
enum class ImageFit : std::uint8_t {
  kExact,  ///< the image must have that size
  /// Scales until 7/8 of the image cover the input, then cuts the input out of the center.
  kCrop,
  kStretch,  ///< scales both directions independently
};

/// Conversion of image samples to input elements.
struct ImageOptions {
  /// Normalization after division by 255: (x - mean) / stddev, per channel (grey: the first).
  std::array<double, 3> mean = {0.485, 0.456, 0.406};
  std::array<double, 3> stddev = {0.229, 0.224, 0.225};
  ImageFit fit = ImageFit::kExact;
};

/// Returns whether the bytes begin like an image that DecodeImage supports.
bool IsDecodableImage(std::string_view bytes);

/// Decodes a JPEG, PNG or Netpbm image to uint8 [height, width, channels] with 3 channels or 1.
/// Drops transparency and reduces 16 bits to 8. At most 2^15 pixels a side and 2^26 in total.
/// Returns kInvalidArgument with the value found and the expected one.
Result<Tensor> DecodeImage(std::string_view bytes);

/// Converts `image` to float32 [height, width, channels], 0 to 255. Scales with a triangle filter,
/// which averages all source pixels that overlap a target pixel. Repeats grey for 3 channels.
/// Returns kInvalidArgument if the image does not fit in the requested way.
Result<Tensor> FitImage(const Tensor& image, std::int64_t height, std::int64_t width,
                        std::int64_t channels, ImageFit fit);

/// Decodes an image into position `index` of a batch, NCHW or NHWC with 1 or 3 channels. float32
/// elements are normalized as the options say; uint8 elements are the samples.
/// Returns kInvalidArgument for another type, a damaged image, or one that does not fit.
Status WriteImageToBatch(std::string_view bytes, const ImageOptions& options, std::int64_t index,
                         Tensor& batch);

}  // namespace tilewright
