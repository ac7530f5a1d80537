#include "src/vta/kernels/axis_tile.h"

#include <algorithm>

#include "src/base/math.h"

namespace tilewright::vta {

AxisTile::Results AxisTile::ResultsOf(std::int64_t tap) const {
  // Result o reads shift + o * stride + tap, which is data if it is in [0, count).
  const std::int64_t from = shift + tap;
  const std::int64_t low = std::clamp(FloorDiv(stride - 1 - from, stride), std::int64_t{0}, size);
  const std::int64_t high = std::min(FloorDiv(count - 1 - from, stride) + 1, size);
  return {low, std::max(low, high)};
}

std::vector<AxisTile> SplitAxis(const ConvAxis& axis, std::int64_t size) {
  std::vector<AxisTile> tiles;
  const std::int64_t step = axis.may_skip && axis.kernel == 1 && axis.pad == 0 ? axis.stride : 1;
  for (std::int64_t begin = 0; begin < axis.out_extent(); begin += size) {
    AxisTile tile;
    tile.begin = begin;
    tile.size = std::min(size, axis.out_extent() - begin);
    const std::int64_t from = begin * axis.stride - axis.pad;
    const std::int64_t to = from + (tile.size - 1) * axis.stride + axis.kernel;
    tile.first = std::max<std::int64_t>(from, 0);
    tile.step = step;
    tile.count = CeilDiv(std::min(to, axis.extent) - tile.first, step);
    tile.shift = from - tile.first;
    tile.stride = axis.stride / step;
    tiles.push_back(tile);
  }
  return tiles;
}

}  // namespace tilewright::vta
