#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "src/space/open/expression_pool.h"

namespace tilewright {

/// Names that an expression may contain: returns the expression of a name, or nullopt.
using NameLookup = std::function<std::optional<ExpressionId>(std::string_view)>;

/// Parses a condition: Python's expressions of numbers, texts, True, False, names, lists and
/// tuples; + - * / // % ** << >> & | ^ ~, comparisons (also chained), in, not in, and, or, not,
/// `a if c else b`; the functions min, max, abs, int, float, bool, round, ceil, floor, sqrt, log2,
/// pow and len, also after "math."; and, as in files of other tuners, && || !. At most 10,000
/// bytes, nested up to 100 deep.
/// Errors: kInvalidArgument with the position (from 1) and what was expected.
Result<ExpressionId> ParseCondition(std::string_view text, ExpressionPool& pool,
                                    const NameLookup& names);

/// Parses the values of a parameter: a list or tuple of constants, also as range(a, b, step),
/// [f(i) for i in range(n) if g(i)], or lists joined by +. At most 65,536 values.
/// Errors: as ParseCondition.
Result<std::vector<ParameterValue>> ParseValueList(std::string_view text);

}  // namespace tilewright
