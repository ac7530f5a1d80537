#include "search/feature_cache.h"

#include "cost_model/cost_model.h"
#include "src/base/hash.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kSlots = 1024;  // about 0.6 MB of features per task that is being searched

}  // namespace

std::span<const float> FeatureCache::Get(Point point) {
  const auto width = static_cast<std::size_t>(cost_model::FeatureCount());
  if (keys_.empty()) {
    keys_.assign(kSlots, Point{-1, 0});
    refused_.assign(kSlots, 0);
    rows_.assign(kSlots * width, 0);
  }
  const std::size_t slot = Mix64(static_cast<std::uint64_t>(point.index) * 31 +
                                 static_cast<std::uint64_t>(point.space)) %
                           kSlots;
  const std::span<float> row(rows_.data() + slot * width, width);
  if (keys_[slot] != point) {
    keys_[slot] = point;
    refused_[slot] = inspector_.Features(point, row).ok() ? 0 : 1;
  }
  return refused_[slot] != 0 ? std::span<const float>() : row;
}

}  // namespace tilewright::search
