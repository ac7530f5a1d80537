#pragma once

#include <optional>
#include <span>

#include "src/tensor/epilogue.h"
#include "src/tensor/operator.h"
#include "src/tensor/tensor.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Limits of Evaluate. Tensors that fit in memory can require years of work; operators of real
/// networks stay far below these limits.
/// Multiply-adds of an anchor: a quarter of an hour at 1 GMAC/s.
inline constexpr std::int64_t kMaxMacs = std::int64_t{1} << 40;
/// Elements that windows of pooling and LRN read: about a minute.
inline constexpr std::int64_t kMaxTaps = std::int64_t{1} << 36;

/// Errors: kUnsupported with the work and the limit, for an operator of these types that exceeds
/// it.
Status CheckWork(const Operator& op, std::span<const TensorType> inputs, const TensorType& result);

/// Reference evaluator: returns an operator's result. Plain loops over the tensors in the
/// operator's own layouts, without code of lowering; float32 accumulates in double. At least 1
/// GMAC/s per thread on convolutions and matrix products.
/// threads: maximum number of threads.
/// Errors: those of InferType and CheckWork.
Result<Tensor> Evaluate(const Operator& op, std::span<const Tensor* const> inputs, int threads = 1);

/// Evaluates a workload and its epilogue; float16 is rounded once, at the end. `operands` are those
/// of the steps that have one, in order: channel operands as [K], tensor operands in the output's
/// layout. The weight is not read if the workload has none.
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
/// Tolerance of float16 results, and of others that were rounded to float16 on the way: eight units
/// in the last place. Sums that differ slightly may be rounded to neighbors, a later addition may
/// leave a much smaller value, and several operators round one after the other where a kernel
/// rounds once.
inline constexpr double kToleranceOfFloat16 = 8 * 0x1p-10;

/// Compares a result with the reference. Integers must be equal. Floats must be within `tolerance`
/// times the reference's root mean square (default: 1e-4, and kToleranceOfFloat16 for float16;
/// float16 may in addition differ by one unit of the value itself). NaN is allowed only where the
/// reference has it.
Comparison Compare(const Tensor& result, const Tensor& reference,
                   std::optional<double> tolerance = std::nullopt);

}  // namespace tilewright
