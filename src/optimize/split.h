#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/optimize/bound.h"

namespace tilewright::optimize {

/// Numbers of samples, each in one part.
struct DataSplit {
  std::vector<std::size_t> calibration;  ///< ranges of int8 are measured on these
  std::vector<std::size_t> search;       ///< errors during the search
  std::vector<std::size_t> held_out;     ///< decide whether the bound is kept
};

/// Splits samples by a fixed permutation: a quarter (of at most 64) to calibrate, a quarter to
/// search, the others held out. rows: of one sample, of which `agreement` counts each.
/// Errors: kInvalidArgument with the least number if there are too few for the bound.
Result<DataSplit> SplitSamples(std::size_t count, const Bound& bound, std::int64_t rows);

/// Returns the number of rows of one sample.
///
/// output: type of the first output. Errors: kInvalidArgument for `agreement` of rows with one
/// class, which always agree.
Result<std::int64_t> RowsOf(const TensorType& output, const Bound& bound);

/// Returns the least number of held-out samples that decide a bound.
std::size_t LeastHeldOut(const Bound& bound, std::int64_t rows);

}  // namespace tilewright::optimize
