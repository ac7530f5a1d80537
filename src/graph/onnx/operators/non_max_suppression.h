#pragma once

#include <span>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Handlers of operators that select boxes.
std::span<const OnnxHandlerEntry> OnnxNonMaxSuppressionHandlers();

}  // namespace tilewright
