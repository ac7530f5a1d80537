#pragma once

#include "src/tensor/operator.h"

namespace tilewright {

/// Whether elements of the first input are only brought to other places (all, some, or some of them
/// several times), and nothing else is in the result.
bool IsDataMovement(OpKind kind);

}  // namespace tilewright
