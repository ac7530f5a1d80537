#pragma once

#include "src/tensor/operator.h"

namespace tilewright {

/// An operator with attributes set by a function.
template <typename Fn>
Operator With(OpKind kind, Fn set) {
  Operator op{kind, {}};
  set(op.attributes);
  return op;
}

}  // namespace tilewright
