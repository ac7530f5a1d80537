#include "search/feature_cache.h"

#include <algorithm>

#include "cost_model/cost_model.h"

namespace tilewright::search {
namespace {

constexpr std::size_t kSlots = 1024;  // about 0.6 MB of features per active task
constexpr std::size_t kRefusedSlots = 4096;

}  // namespace

std::span<const float> FeatureCache::Get(Point point) {
  const auto width = static_cast<std::size_t>(cost_model::FeatureCount());
  if (keys_.empty()) {
    keys_.assign(kSlots, Point{-1, 0});
    refused_.assign(kRefusedSlots, Point{-1, 0});
    rows_.assign(kSlots * width, 0);
    fresh_.assign(width, 0);
  }
  const std::uint64_t hash = HashOf(point);
  Point& refused = refused_[hash % kRefusedSlots];
  if (refused == point) return {};
  const std::size_t slot = hash % kSlots;
  const std::span<float> row(rows_.data() + slot * width, width);
  if (keys_[slot] == point) return row;
  if (!analyzer_.Features(point, fresh_).ok()) {
    refused = point;
    return {};
  }
  keys_[slot] = point;
  std::ranges::copy(fresh_, row.begin());
  return row;
}

}  // namespace tilewright::search
