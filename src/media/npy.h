#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Returns whether the bytes begin like a .npy file.
bool IsNpy(std::string_view bytes);

/// Parses a .npy file of version 1.0, 2.0 or 3.0: little-endian, C order, at most 16 dimensions (0
/// is allowed: zero-size), element types bool, (u)int8 to (u)int64, float16 to float64.
///
/// Returns kInvalidArgument with the value found and the expected one.
///
/// Source: NumPy's numpy.lib.format.
Result<Tensor> ParseNpy(std::string_view bytes);

/// Returns the bytes of a .npy file, version 1.0.
std::string FormatNpy(const Tensor& tensor);

}  // namespace tilewright
