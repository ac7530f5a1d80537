#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/ir/dtype.h"
#include "src/tensor/expression/expression.h"

namespace tilewright::reference {

/// Values of one node for neighbouring positions along an axis; one value where all are the same.
struct Lanes {
  bool uniform = true;
  bool exact = true;                   ///< then `errors` says nothing
  std::vector<double> numbers;         ///< of floats
  std::vector<std::int64_t> integers;  ///< of integers and conditions
  std::vector<double> errors;          ///< how far the value of a right kernel may be
};

/// Values of a tensor of the evaluator: floats are not rounded yet.
struct TensorValues {
  TensorType type;
  std::vector<double> numbers;
  std::vector<std::int64_t> integers;
  std::vector<double> errors;  ///< empty: exact
  /// As BoundedTensor has it, in any order. `errors` reach as far.
  std::vector<std::pair<std::int64_t, std::int64_t>> other_positions;
};

/// Part of a value that one rounding in this type may be: 2^-24 of float32.
double RoundingOf(DataType dtype);
/// An integer as its type keeps it.
std::int64_t Wrapped(DataType dtype, std::int64_t value);

/// The value of a node other than an axis or a load, from those of its arguments. count: lanes of
/// what is not uniform. What it writes has room for them.
void ComputeLanes(const ExpressionNode& node, const std::vector<const Lanes*>& args,
                  std::int64_t count, Lanes& out);

}  // namespace tilewright::reference
