#include "src/templates/space_values.h"

#include <algorithm>

#include "src/base/math.h"

namespace tilewright {

std::int64_t LargestDivisor(std::int64_t extent, std::int64_t limit) {
  for (std::int64_t d = std::min(extent, limit); d > 1; --d) {
    if (extent % d == 0) return d;
  }
  return 1;
}

std::vector<std::int64_t> ThriftyTiles(std::int64_t extent, std::int64_t limit) {
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = 1; tile <= std::min(extent, limit); ++tile) {
    const bool smallest = tile == 1 || CeilDiv(extent, tile) != CeilDiv(extent, tile - 1);
    if (smallest) tiles.push_back(tile);
  }
  return tiles;
}

KnobValue InnerFactor(std::int64_t extent, std::int64_t inner) {
  return KnobValue{std::vector<std::int64_t>{CeilDiv(extent, inner), inner}};
}

Result<Config> LocateValues(const ConfigSpace& space,
                            std::vector<std::pair<std::string, KnobValue>> values) {
  Config config;
  config.values = std::move(values);
  return space.Locate(config);
}

Result<ConfigSpace> MakeSpace(std::vector<Result<Knob>> knobs) {
  ConfigSpace space;
  for (Result<Knob>& knob : knobs) {
    TW_RETURN_IF_ERROR(knob);
    TW_RETURN_IF_ERROR(space.Add(*std::move(knob)));
  }
  return space;
}

}  // namespace tilewright
