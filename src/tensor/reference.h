#pragma once

#include <span>

#include "src/tensor/epilogue.h"
#include "src/tensor/operator.h"
#include "src/tensor/tensor.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// The reference evaluator: what an operator's result is. Plain loops over the tensors in the
/// operator's own layouts, no code shared with lowering; float32 accumulates in double.
/// At least 1 GMAC/s per thread on convolutions and matrix products.
/// threads: at most this many are used.
/// Errors: those of InferType.
Result<Tensor> Evaluate(const Operator& op, std::span<const Tensor* const> inputs, int threads = 1);

/// A workload and its epilogue, float16 rounded once, at the end; `operands` are those of the steps
/// that have one, in order, channel operands as [K], tensor operands in the output's layout; weight
/// is not read if there is none.
Result<Tensor> EvaluateAnchor(const Workload& workload, const Epilogue& epilogue,
                              const Tensor& data, const Tensor& weight,
                              std::span<const Tensor* const> operands, int threads = 1);

/// Difference of a result from the reference.
struct Comparison {
  double max_abs_error = 0;
  double reference_rms = 0;
  std::int64_t first_bad = -1;  ///< row-major position of the first element out of bounds, or -1
  bool ok = false;
};
/// Integers must be equal; floats within `tolerance` times the reference's root mean square
/// (float16: at least eight units in the last place of that, and one of the value more), and NaN
/// only where the reference has it.
Comparison Compare(const Tensor& result, const Tensor& reference, double tolerance = 1e-4);

}  // namespace tilewright
