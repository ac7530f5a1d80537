#pragma once

#include <string_view>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// True if the bytes begin as a picture that ParseNetpbm may read.
bool IsNetpbm(std::string_view bytes);

/// The samples of a Netpbm picture, uint8 [height, width, channels]: PPM (P6 and P3, 3 channels)
/// and PGM (P5 and P2, 1 channel) with a maximum of 255. Errors: kInvalidArgument with what was
/// found and what was expected. Source: the Netpbm manual.
Result<Tensor> ParseNetpbm(std::string_view bytes);

}  // namespace tilewright
