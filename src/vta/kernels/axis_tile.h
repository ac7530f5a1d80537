#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::vta {

/// A part of one axis of a convolution's result, and the part of the data's axis that it needs: of
/// the padding, nothing.
struct AxisTile {
  std::int64_t begin = 0, size = 0;             ///< of the result
  std::int64_t first = 0, count = 0, step = 1;  ///< of the data: `count` of them, `step` apart
  std::int64_t shift = 0;   ///< what tap 0 of the first result reads, among those; < 0: padding
  std::int64_t stride = 1;  ///< and how much further the next result reads

  /// Results [low, high), counted from `begin`, for which tap `tap` reads data and not padding.
  struct Results {
    std::int64_t low = 0, high = 0;
    friend bool operator==(const Results&, const Results&) = default;
  };
  Results ResultsOf(std::int64_t tap) const;
};

/// One axis of a convolution.
struct ConvAxis {
  std::int64_t extent = 1;  ///< of the data
  std::int64_t kernel = 1, stride = 1, pad = 0;
  bool may_skip = false;  ///< whether data between the strides of a kernel of 1 can be left out

  std::int64_t out_extent() const { return (extent + 2 * pad - kernel) / stride + 1; }
};

/// The whole axis in tiles of `size` results; the last has what is left.
std::vector<AxisTile> SplitAxis(const ConvAxis& axis, std::int64_t size);

}  // namespace tilewright::vta
