#pragma once

#include <string_view>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Returns whether the bytes begin like a Netpbm image (P1 to P7); ParseNetpbm supports four kinds.
bool IsNetpbm(std::string_view bytes);

/// Parses a Netpbm image to uint8 [height, width, channels]: PPM (P6 and P3, 3 channels) and PGM
/// (P5 and P2, 1 channel) with a maximum of 255.
/// Returns kInvalidArgument with the value found and the expected one.
/// Source: the Netpbm manual.
Result<Tensor> ParseNetpbm(std::string_view bytes);

}  // namespace tilewright
