#pragma once

#include "src/graph/onnx/node.h"

namespace tilewright {

/// |a| less its multiples of |b|, float64 both, exactly: of all numbers; NaN of infinite a and of a
/// b that is zero.
int EmitExactFmod(OnnxNode& node, int a, int b);

}  // namespace tilewright
