#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/static_analyzer.h"

namespace tilewright::search {

/// The features of the points looked at lately, in bounded memory. Not thread-safe.
class FeatureCache {
 public:
  /// The inspector outlives the cache.
  explicit FeatureCache(const StaticAnalyzer& analyzer) : analyzer_(analyzer) {}
  /// Features of the point; empty if a static check refuses it. Valid until the next call.
  std::span<const float> Get(Point point);

 private:
  const StaticAnalyzer& analyzer_;
  // One slot per hash value, space -1 is free. Refused points, often most of a space, have slots of
  // their own, so that they push no features out.
  std::vector<Point> keys_, refused_;
  std::vector<float> rows_;
  std::vector<float> fresh_;
};

}  // namespace tilewright::search
