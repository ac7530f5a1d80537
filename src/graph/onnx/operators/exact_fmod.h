#pragma once

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Emits |a| modulo |b| for float64 operands, exactly for all finite numbers. NaN if a is infinite
/// or b is zero.
int EmitExactFmod(OnnxNode& node, int a, int b);

}  // namespace tilewright
