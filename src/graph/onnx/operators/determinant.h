#pragma once

#include <span>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Handlers of operators that factorize matrices.
std::span<const OnnxHandlerEntry> OnnxDeterminantHandlers();

}  // namespace tilewright
