#pragma once

#include <string>

#include "src/graph/ir/graph.h"
#include "src/tensor/expression/expression.h"

namespace tilewright {

/// Returns a graph of one operator, the expression. Its inputs and its value have the expression's
/// names.
Result<Graph> GraphOfExpression(const Expression& expression, std::string name);

}  // namespace tilewright
