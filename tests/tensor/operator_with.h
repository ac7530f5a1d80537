#pragma once

#include "src/tensor/operator.h"

namespace tilewright {

/// Returns an operator whose attributes a function sets.
template <typename Fn>
Operator With(OpKind kind, Fn set) {
  Operator op{kind, {}};
  set(op.attributes);
  return op;
}

}  // namespace tilewright
