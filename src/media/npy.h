#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// True if the bytes begin as a .npy file does.
bool IsNpy(std::string_view bytes);

/// A tensor from a .npy file of version 1.0, 2.0 or 3.0: little-endian, C order, at most 16
/// dimensions (of which some may be 0: no elements), element types bool, (u)int8 to (u)int64,
/// float16 to float64.
///
/// Errors: kInvalidArgument with what was found and what was expected.
///
/// Source: NumPy's numpy.lib.format.
Result<Tensor> ParseNpy(std::string_view bytes);

/// The bytes of a .npy file, version 1.0.
std::string FormatNpy(const Tensor& tensor);

}  // namespace tilewright
