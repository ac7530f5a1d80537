#pragma once

#include <span>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Of operators that choose among boxes.
std::span<const OnnxHandlerEntry> OnnxNonMaxSuppressionHandlers();

}  // namespace tilewright
