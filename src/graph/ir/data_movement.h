#pragma once

#include "src/tensor/operator.h"

namespace tilewright {

/// Returns true if the result contains only elements of the first input, in other positions.
/// Elements may be dropped or repeated.
bool IsDataMovement(OpKind kind);

/// Returns true for data movement that repeats no element and takes its positions from attributes
/// only.
bool IsRearrangement(OpKind kind);

}  // namespace tilewright
