#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/ir/dtype.h"
#include "src/tensor/expression/expression.h"

namespace tilewright::reference {

/// Values of one node for neighboring positions along an axis; one value if all are the same.
struct Lanes {
  bool uniform = true;
  bool exact = true;                   ///< then `errors` is unused
  std::vector<double> numbers;         ///< of floats
  std::vector<std::int64_t> integers;  ///< of integers and conditions
  std::vector<double> errors;          ///< maximum errors of a correct kernel's values
};

/// Values of a tensor in the evaluator: floats are not rounded yet.
struct TensorValues {
  TensorType type;
  std::vector<double> numbers;
  std::vector<std::int64_t> integers;
  std::vector<double> errors;  ///< empty: exact
  /// As in BoundedTensor, in any order. `errors` include them.
  std::vector<std::pair<std::int64_t, std::int64_t>> other_positions;
};

/// Returns the maximum relative error of one rounding in this type: 2^-24 for float32.
double RoundingOf(DataType dtype);
/// Returns an integer wrapped to its type.
std::int64_t Wrapped(DataType dtype, std::int64_t value);

/// Computes the value of a node other than an axis or a load, from those of its arguments. count:
/// lanes of non-uniform values. The output has room for them.
void ComputeLanes(const ExpressionNode& node, const std::vector<const Lanes*>& args,
                  std::int64_t count, Lanes& out);

}  // namespace tilewright::reference
