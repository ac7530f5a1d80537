#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "src/ir/simplify.h"

namespace tilewright {

/// Consecutive integers: a first one, which may depend on loop variables, and their number.
struct Box {
  Expr min;
  std::int64_t extent = 1;
};

/// Variables that range over boxes; every other variable has one value.
using BoxMap = std::vector<std::pair<const ExprNode*, Box>>;

/// Returns the position in row-major order of the element at these indices.
LinearForm FlatPosition(const std::vector<Expr>& indices, const std::vector<std::int64_t>& shape,
                        const Ranges& ranges);

/// Returns a box that contains every value of an index while the variables of `boxes` range over
/// theirs. Returns nullopt if the range is unknown (for example, an index loaded from memory).
std::optional<Box> BoxOf(const Expr& index, const BoxMap& boxes, const Ranges& ranges);

/// Returns a box that contains both, if their first integers differ by a constant.
std::optional<Box> Unite(const Box& a, const Box& b, const Ranges& ranges);

/// Returns true if the expression contains one of the variables of `boxes`.
bool Mentions(const Expr& expr, const BoxMap& boxes);

}  // namespace tilewright
