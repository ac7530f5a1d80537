#include "src/templates/space_values.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "src/base/math.h"

namespace tilewright {

std::int64_t LargestDivisor(std::int64_t extent, std::int64_t limit) {
  for (std::int64_t d = std::min(extent, limit); d > 1; --d) {
    if (extent % d == 0) return d;
  }
  return 1;
}

std::int64_t LargestPowerOfTwo(std::int64_t extent, std::int64_t limit) {
  std::int64_t power = 1;
  while (power * 2 <= limit && extent % (power * 2) == 0) power *= 2;
  return power;
}

std::vector<std::int64_t> MinWasteTiles(std::int64_t extent, std::int64_t limit) {
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = 1; tile <= std::min(extent, limit); ++tile) {
    const bool smallest = tile == 1 || CeilDiv(extent, tile) != CeilDiv(extent, tile - 1);
    if (smallest) tiles.push_back(tile);
  }
  return tiles;
}

std::vector<std::int64_t> PassSizes(std::int64_t all) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size : {1, 2, 4, 7, 14, 28}) {
    if (size < all) sizes.push_back(size);
  }
  sizes.push_back(all);
  return sizes;
}

std::int64_t BalancedPass(const std::vector<std::int64_t>& sizes, std::int64_t count,
                          const std::vector<double>& groups, int threads) {
  if (threads == 1) return sizes.back();
  constexpr double kBusyEnough = 0.97;
  std::int64_t best = sizes.back();
  double busiest = 0;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    std::priority_queue<double, std::vector<double>, std::greater<>> ends;
    for (int thread = 0; thread < threads; ++thread) ends.push(0);
    double total = 0, last = 0;
    for (const double work : groups) {
      for (std::int64_t begin = 0; begin < count; begin += *size) {
        const double pass = work * static_cast<double>(std::min(*size, count - begin));
        const double end = ends.top() + pass;
        ends.pop();
        ends.push(end);
        total += pass;
        last = std::max(last, end);
      }
    }
    const double busy = total / (last * threads);
    if (busy > busiest) busiest = busy, best = *size;
    if (busiest >= kBusyEnough) break;
  }
  return best;
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
