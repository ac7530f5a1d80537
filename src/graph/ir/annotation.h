#pragma once

#include <cstdint>
#include <vector>

#include "src/ir/dtype.h"

namespace tilewright {

enum class AnnotationKind : std::uint8_t {
  kNone,
  kCastHint,    ///< store the value as `dtype`
  kStopFusion,  ///< no kernel may cross this value
  kQuantize,    ///< round the value to multiples of `scales`
};

/// Role of a value in a quantized operator. Each role has its own number of bits.
enum class ValueKind : std::uint8_t { kInput, kWeight, kActivation };

/// Annotation of an identity operator during quantization (src/graph/quantize). Other operators
/// have kind kNone.
struct Annotation {
  AnnotationKind kind = AnnotationKind::kNone;
  DataType dtype = kInt8;               ///< kCastHint
  ValueKind value = ValueKind::kInput;  ///< kQuantize
  /// kQuantize: real value of one integer step. Empty before calibration; else one scale, or one
  /// per output channel.
  std::vector<double> scales;
  friend bool operator==(const Annotation&, const Annotation&) = default;
};

}  // namespace tilewright
