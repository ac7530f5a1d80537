#pragma once

#include "src/tensor/expression/expression.h"

namespace tilewright {

/// The same computation over the same memory, with neighbouring dimensions that are always read and
/// written together as one: shapes of inputs and result have fewer dimensions.
Expression Collapsed(const Expression& expression);

}  // namespace tilewright
