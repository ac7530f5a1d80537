#pragma once

#include "src/tensor/expression/expression.h"

namespace tilewright {

/// Returns the same computation over the same memory, with neighboring dimensions joined if all
/// reads and writes treat them as one. Shapes of inputs and result then have fewer dimensions.
Expression Collapsed(const Expression& expression);

}  // namespace tilewright
