#pragma once

#include <cstdint>
#include <vector>

#include "src/ir/dtype.h"

namespace tilewright {

enum class AnnotationKind : std::uint8_t {
  kNone,
  kCastHint,    ///< the value is to be stored as `dtype`
  kStopFusion,  ///< no kernel crosses this value
  kQuantize,    ///< the value is to be rounded to steps of `scales`
};

/// What a value is to a quantized operator; each has a number of bits of its own.
enum class ValueKind : std::uint8_t { kInput, kWeight, kActivation };

/// What an identity says about its value on the graph's way to integers (src/graph/quantize).
/// Other operators have none.
struct Annotation {
  AnnotationKind kind = AnnotationKind::kNone;
  DataType dtype = kInt8;               ///< kCastHint
  ValueKind value = ValueKind::kInput;  ///< kQuantize
  /// kQuantize: what one step is worth. None before calibration; one, or one per output channel.
  std::vector<double> scales;
  friend bool operator==(const Annotation&, const Annotation&) = default;
};

}  // namespace tilewright
