#pragma once

#include <optional>
#include <span>

#include "src/tensor/epilogue.h"
#include "src/tensor/operator.h"
#include "src/tensor/tensor.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Most that Evaluate takes on. Tensors that fit in memory can ask for years of work; no real
/// network has an operator that comes near these.
/// Multiply-adds of an anchor: a quarter of an hour at 1 GMAC/s.
inline constexpr std::int64_t kMaxMacs = std::int64_t{1} << 40;
/// Elements that windows of pooling and LRN look at: about a minute.
inline constexpr std::int64_t kMaxTaps = std::int64_t{1} << 36;

/// Errors: kUnsupported with the work and the limit, for an operator of these types that is above.
Status CheckWork(const Operator& op, std::span<const TensorType> inputs, const TensorType& result);

/// The reference evaluator: what an operator's result is. Plain loops over the tensors in the
/// operator's own layouts, no code shared with lowering; float32 accumulates in double.
/// At least 1 GMAC/s per thread on convolutions and matrix products.
/// threads: at most this many are used.
/// Errors: those of InferType and CheckWork.
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
/// Of float16 results, and of others that were rounded to float16 on the way: eight units in the
/// last place. Sums that differ by next to nothing may be rounded to neighbours, what is added to
/// them afterwards may leave a value that is much smaller, and several operators round one after
/// the other where a kernel rounds once.
inline constexpr double kToleranceOfFloat16 = 8 * 0x1p-10;

/// Integers must be equal; floats within `tolerance` times the reference's root mean square (none
/// given: 1e-4, and kToleranceOfFloat16 for float16; float16 may be off by one unit of
/// the value itself besides), and NaN only where the reference has it.
Comparison Compare(const Tensor& result, const Tensor& reference,
                   std::optional<double> tolerance = std::nullopt);

}  // namespace tilewright
