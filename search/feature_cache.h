#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/static_analyzer.h"

namespace tilewright::search {

/// Cache of the features of recently analyzed points, in bounded memory. Not thread-safe.
class FeatureCache {
 public:
  /// analyzer: has to outlive the cache.
  explicit FeatureCache(const StaticAnalyzer& analyzer) : analyzer_(analyzer) {}
  /// Returns the features of the point; empty if a static check rejects it. Valid until the next
  /// call.
  std::span<const float> Get(Point point);

 private:
  const StaticAnalyzer& analyzer_;
  // One slot per hash value; space -1 marks a free slot. Rejected points, often most of a space,
  // have separate slots and therefore evict no features.
  std::vector<Point> keys_, refused_;
  std::vector<float> rows_;
  std::vector<float> fresh_;
};

}  // namespace tilewright::search
