#pragma once

#include <span>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Of operators that take matrices apart.
std::span<const OnnxHandlerEntry> OnnxDeterminantHandlers();

}  // namespace tilewright
