#pragma once

#include <cstdint>
#include <vector>

#include "search/strategy.h"
#include "src/base/random.h"

namespace tilewright::search {

/// Legal points of a search space that can be drawn and walked without trying. For spaces whose
/// conditions leave few of all combinations.
class PointSet {
 public:
  virtual ~PointSet() = default;
  /// Number of points, or an upper bound if they are not counted.
  virtual std::int64_t size() const = 0;
  /// Whether they are counted. If not, a random point may take some thousand tries.
  virtual bool counted() const = 0;
  /// Returns all points in a fixed order if they are at most `limit`, else none.
  virtual std::vector<Point> List(std::int64_t limit) const = 0;
  virtual bool Contains(Point point) const = 0;
  /// Returns a random point; all are equally likely.
  virtual Point Sample(Random& random) const = 0;
  /// Returns the points that differ from `point` in one knob.
  virtual std::vector<Point> Neighbours(Point point) const = 0;
  /// Returns a random point that is like `point`: one knob has another value, and others change
  /// only if the conditions leave no choice.
  virtual Point Mutate(Point point, Random& random) const = 0;
};

}  // namespace tilewright::search
