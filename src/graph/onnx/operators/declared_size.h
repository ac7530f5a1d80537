#pragma once

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Imports a NonZero of a value computed at run time. The result has as many columns as its
/// declared shape: first the positions of nonzero elements, then columns of -1. Further positions
/// are dropped. Errors: no shape is declared.
void ReturnNonZeroOfDeclaredSize(OnnxNode& node);

/// Imports a Range with operands computed at run time. The result has as many elements as its
/// declared shape, even beyond the limit. Errors: no shape is declared; the message names input
/// `unknown` as the reason.
void ReturnRangeOfDeclaredSize(OnnxNode& node, int unknown);

}  // namespace tilewright
