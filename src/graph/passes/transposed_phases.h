#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/tensor/operator.h"

namespace tilewright {

/// Stride phases of a transposed convolution along one dimension: result position p is in phase
/// p mod stride. Without dilation, the elements of a phase are a convolution without stride of the
/// data with every stride-th tap of the kernel.

/// Neighboring phases that one convolution computes.
struct PhaseRange {
  std::int64_t first_tap = 0;  ///< the first phase's smallest tap; the others follow it
  std::int64_t count = 1;      ///< phases
  std::int64_t taps = 1;       ///< of each phase; taps outside the kernel are zero
  /// Padding of the data that gives PhaseDimension::outputs elements. If negative, the data's first
  /// or last elements are unused.
  std::int64_t before = 0, after = 0;
  friend bool operator==(const PhaseRange&, const PhaseRange&) = default;
};

/// The phases of one dimension. Interleaving them gives `crop` elements, the result, and possibly
/// more elements.
struct PhaseDimension {
  std::int64_t stride = 1;
  std::int64_t dilation = 1;  ///< of the convolutions
  std::int64_t taps = 1;      ///< largest number of taps of a phase
  std::int64_t outputs = 0;   ///< elements of each phase
  std::int64_t crop = 0;
  std::vector<PhaseRange> ranges;  ///< in the order of the phases
  friend bool operator==(const PhaseDimension&, const PhaseDimension&) = default;
};

/// A transposed convolution as convolutions: one for each range of rows and range of columns. Their
/// channels are phases of rows, phases of columns, channels of the result. Rows have one phase in
/// each range if there are several ranges of columns.
struct TransposedPhases {
  PhaseDimension rows, columns;
  std::int64_t count() const { return rows.stride * columns.stride; }
  std::size_t parts() const { return rows.ranges.size() * columns.ranges.size(); }
  friend bool operator==(const TransposedPhases&, const TransposedPhases&) = default;
};

/// Returns the distance of the taps in the kernel that is split, along rows (0) or columns (1). A
/// dilated kernel with a stride gets zeros between its taps, which are multiplied.
std::int64_t TapDistance(const Operator& op, std::size_t dimension);

/// Returns the cheapest split of a transposed convolution (NCHW data, IOHW weight), by its products
/// with whole vectors of channels. Returns nullopt for other layouts, and if there would be too
/// many convolutions.
std::optional<TransposedPhases> PhasesOf(const Operator& op, const TensorType& data,
                                         const TensorType& weight, const TensorType& result);

}  // namespace tilewright
