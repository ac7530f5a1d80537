#pragma once

#include <string>

#include "src/graph/ir/graph.h"
#include "src/tensor/expression/expression.h"

namespace tilewright {

/// A graph of one operator, the expression; its inputs and its value have the expression's names.
Result<Graph> GraphOfExpression(const Expression& expression, std::string name);

}  // namespace tilewright
