#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// How a picture comes to the size of a network's input.
enum class ImageFit : std::uint8_t {
  kExact,    ///< it must have that size
  kCrop,     ///< scaled until 7/8 of it cover the input, which is then cut out of the middle
  kStretch,  ///< scaled in both directions
};

/// What becomes of a picture's samples on the way to a network.
struct ImageOptions {
  /// Divided by 255: (x - mean) / deviation, per channel (grey: the first).
  std::array<double, 3> mean = {0.485, 0.456, 0.406};
  std::array<double, 3> stddev = {0.229, 0.224, 0.225};
  ImageFit fit = ImageFit::kExact;
};

/// True if the bytes begin as a picture that DecodeImage may read.
bool IsDecodableImage(std::string_view bytes);

/// The samples of a JPEG, PNG or Netpbm picture, uint8 [height, width, channels]: 3 channels or 1.
/// Transparency is dropped, 16 bits become 8. At most 2^15 pixels a side and 2^26 in all.
/// Errors: kInvalidArgument with what was found and what was expected.
Result<Tensor> DecodeImage(std::string_view bytes);

/// `picture` as float32 [height, width, channels], 0 to 255; scaled with a triangle filter, which
/// averages all pixels that fall into one. Grey is repeated for 3 channels.
/// Errors: kInvalidArgument if it does not fit that way.
Result<Tensor> FitImage(const Tensor& image, std::int64_t height, std::int64_t width,
                        std::int64_t channels, ImageFit fit);

/// Puts a picture's bytes into place `index` of a batch, NCHW or NHWC of 1 or 3 channels: float32
/// as the options say, uint8 as they are. Errors: kInvalidArgument for another type, a damaged
/// picture, or one that does not fit.
Status WriteImageToBatch(std::string_view bytes, const ImageOptions& options, std::int64_t index,
                         Tensor& batch);

}  // namespace tilewright
