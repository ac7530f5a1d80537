#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright::quantize {

/// How a picture comes to the size of a network's input.
enum class PictureFit : std::uint8_t {
  kExact,    ///< it must have that size
  kCrop,     ///< scaled until 7/8 of it cover the input, which is then cut out of the middle
  kStretch,  ///< scaled in both directions
};

/// True if the bytes begin as a picture that ParsePicture may read.
bool IsPicture(std::string_view bytes);

/// The samples of a JPEG, PNG or Netpbm picture, uint8 [height, width, channels]: 3 channels or 1.
/// Transparency is dropped, 16 bits become 8. At most 2^15 pixels a side and 2^26 in all.
/// Errors: kInvalidArgument with what was found and what was expected.
Result<Tensor> ParsePicture(std::string_view bytes);

/// `picture` as float32 [height, width, channels], 0 to 255; scaled with a triangle filter, which
/// averages all pixels that fall into one. Grey is repeated for 3 channels.
/// Errors: kInvalidArgument if it does not fit that way.
Result<Tensor> FitPicture(const Tensor& picture, std::int64_t height, std::int64_t width,
                          std::int64_t channels, PictureFit fit);

}  // namespace tilewright::quantize
