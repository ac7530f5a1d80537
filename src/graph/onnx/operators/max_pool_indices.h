#pragma once

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Emits the indices of the elements that a MaxPool of sequences or images selects, int64 of the
/// shape of `pooled`. An index counts within the whole data in row-major order or, with
/// storage_order 1, in column-major order. Of equal elements the first of the window counts.
/// Errors: kUnsupported for volumes and for windows of more than 1024 elements.
int EmitMaxPoolIndices(OnnxNode& node, int data, int pooled);

}  // namespace tilewright
