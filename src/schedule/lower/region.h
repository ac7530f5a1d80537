#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "src/ir/simplify.h"

namespace tilewright {

/// Consecutive integers: a first one that may depend on loop variables, and how many.
struct Box {
  Expr min;
  std::int64_t extent = 1;
};

/// Variables that range over boxes; every other variable stands for one value.
using BoxMap = std::vector<std::pair<const ExprNode*, Box>>;

/// A box that holds every value of an index while the variables of `boxes` range over theirs.
/// None where nothing can be said (an index loaded from memory, say).
std::optional<Box> BoxOf(const Expr& index, const BoxMap& boxes, const Ranges& ranges);

/// A box that holds both, if their first integers differ by a constant.
std::optional<Box> Unite(const Box& a, const Box& b, const Ranges& ranges);

/// True if the expression mentions one of the variables of `boxes`.
bool Mentions(const Expr& expr, const BoxMap& boxes);

}  // namespace tilewright
