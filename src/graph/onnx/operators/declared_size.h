#pragma once

#include "src/graph/onnx/node.h"

namespace tilewright {

/// NonZero of what is computed while the network runs, whose result has as many columns as its
/// declared shape says: first those of what is found, then columns of -1; what is found beyond them
/// is left out. Errors: no shape is declared.
void ReturnNonZeroOfDeclaredSize(OnnxNode& node);

/// Range with numbers that are computed while the network runs: as many elements as its declared
/// shape says, also those beyond its limit. Errors: no shape is declared; input `unknown` is why
/// one is needed.
void ReturnRangeOfDeclaredSize(OnnxNode& node, int unknown);

}  // namespace tilewright
