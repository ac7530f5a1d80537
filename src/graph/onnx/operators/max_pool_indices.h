#pragma once

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Where the elements are that a MaxPool of sequences or images took, int64 of the shape of
/// `pooled`: positions in the whole data, in rows of width, or (storage_order 1) of height. Of
/// equal elements the first of the window. Errors: kUnsupported for volumes and windows of more
/// than 1024 elements.
int EmitMaxPoolIndices(OnnxNode& node, int data, int pooled);

}  // namespace tilewright
