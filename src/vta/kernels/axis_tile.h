#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::vta {

/// Part of one axis of a convolution's result, and the part of the data's axis that it needs,
/// without padding.
struct AxisTile {
  std::int64_t begin = 0, size = 0;             ///< of the result
  std::int64_t first = 0, count = 0, step = 1;  ///< of the data: `count` elements, `step` apart
  std::int64_t shift =
      0;  ///< position that tap 0 of the first result reads, among those; < 0: padding
  std::int64_t stride = 1;  ///< distance to the position that the next result reads

  /// Returns results [low, high), counted from `begin`, for which tap `tap` reads data and not
  /// padding.
  struct Results {
    std::int64_t low = 0, high = 0;
    friend bool operator==(const Results&, const Results&) = default;
  };
  Results ResultsOf(std::int64_t tap) const;
};

/// Axis of a convolution.
struct ConvAxis {
  std::int64_t extent = 1;  ///< of the data
  std::int64_t kernel = 1, stride = 1, pad = 0;
  bool may_skip = false;  ///< true if data between the strides of a kernel of size 1 may be skipped

  std::int64_t out_extent() const { return (extent + 2 * pad - kernel) / stride + 1; }
};

/// Splits the whole axis into tiles of `size` results; the last one has the rest.
std::vector<AxisTile> SplitAxis(const ConvAxis& axis, std::int64_t size);

}  // namespace tilewright::vta
