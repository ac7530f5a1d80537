#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/models/models.h"

namespace tilewright {

inline constexpr std::int64_t kBertBaseLayers = 12;

/// Writes the first `options.layers` layers of the encoder (0: all) as an ONNX file and returns its
/// bytes.
std::string WriteBertBaseEncoder(std::string_view name, const ModelOptions& options);

}  // namespace tilewright
