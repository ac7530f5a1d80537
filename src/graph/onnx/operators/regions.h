#pragma once

#include <span>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Of operators that sample regions of images.
std::span<const OnnxHandlerEntry> OnnxRegionHandlers();

}  // namespace tilewright
