#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "search/point_set.h"
#include "search/static_analyzer.h"
#include "search/strategy.h"
#include "search/surrogate/point_features.h"
#include "src/space/open/open_space.h"
#include "src/templates/open/open_task.h"

namespace tilewright::search {

/// Search space of an open space: one space with a knob for each parameter. A point's index is the
/// config's index among all combinations. Strategies draw and walk the allowed configs only. Not
/// copyable: the search space points into it.
class OpenSearchSpace final : public PointSet, public StaticAnalyzer {
 public:
  /// listed: the legal indices, sorted, of a space whose legal configs are known by name only;
  /// empty: those that the conditions allow.
  explicit OpenSearchSpace(OpenSpace open, std::vector<std::int64_t> listed = {});
  OpenSearchSpace(const OpenSearchSpace&) = delete;
  OpenSearchSpace& operator=(const OpenSearchSpace&) = delete;

  const OpenSpace& open() const { return open_; }
  const SearchSpace& space() const { return space_; }
  Point PointOf(const OpenConfig& config) const { return {0, open_.IndexOf(config)}; }
  OpenConfig ConfigOf(Point point) const { return open_.FromIndex(point.index); }

  std::int64_t size() const override;
  bool counted() const override { return !listed_.empty() || open_.counted(); }
  std::vector<Point> List(std::int64_t limit) const override;
  bool Contains(Point point) const override;
  Point Sample(Random& random) const override;
  std::vector<Point> Neighbours(Point point) const override;
  Point Mutate(Point point, Random& random) const override;

  Status Check(Point point) const override;
  /// Fills the first features with those of PointFeatures, for cost models; the others are 0.
  Status Features(Point point, std::span<float> out) const override;

 private:
  OpenSpace open_;
  std::vector<std::int64_t> listed_;
  SearchSpace space_;
  std::unique_ptr<PointFeatures> features_;
};

/// Returns the open task of a search space; null if it is none.
const OpenTask* OpenTaskOf(const SearchSpace& space);

/// Gives the search space of an open task its legal points. Does nothing for other spaces.
void AddLegalPoints(SearchSpace& space);

}  // namespace tilewright::search
