#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/run/run.h"
#include "src/graph/open/size_range.h"
#include "src/tensor/tensor.h"

// Times of a library over the sizes of its open dimension.

namespace tilewright::report {

/// Times of runs with one size.
struct SizePoint {
  std::int64_t size = 1;
  double seconds = 0;      ///< median of the runs of the quietest pass
  double min_seconds = 0;  ///< fastest run
  double gflops = 0;
};

/// Sizes for which operators take one of their kernels.
struct KernelInterval {
  int kernel = 0;  ///< number of the operators' kernel, from 0
  std::int64_t least = 1, most = 1;
};

/// Operators whose kernels change at the same sizes.
struct OperatorIntervals {
  std::vector<std::string> values;  ///< results of the operators
  std::vector<KernelInterval> intervals;
};

/// Time over size, with the sizes at which kernels change.
struct SizeCurve {
  std::string model, dimension;
  int threads = 1;
  std::vector<SizePoint> points;  ///< by size
  std::vector<OperatorIntervals> operators;
};

/// Returns the inputs of a run, of these types.
using MakeInputs =
    std::function<Result<std::vector<Tensor>>(const std::vector<ModelValue>& values)>;

/// Times a library at sizes of the range: its ends, powers of two, and some sizes at which kernels
/// change, at most 16. Passes over all sizes alternate, so that disturbances of the machine affect
/// all alike.
///
/// seconds: of measuring all together. Errors: those of SetSize, `inputs` and Bench;
/// kInvalidArgument for a library without an open dimension.
Result<SizeCurve> BenchSizes(ModelLibrary& library, const SizeRange& range, double seconds,
                             const MakeInputs& inputs);

nlohmann::ordered_json SizeCurveJson(const SizeCurve& curve);
/// Returns a line for each size with its time, the time of an entry in the fastest run and a bar of
/// that time, and the intervals of the kernels.
std::string SizeCurveText(const SizeCurve& curve);

}  // namespace tilewright::report
