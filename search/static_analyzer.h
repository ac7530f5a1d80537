#pragma once

#include <span>

#include "search/strategy.h"
#include "src/schedule/summary.h"
#include "src/templates/limits.h"

namespace tilewright::search {

/// What can be known of a point without building it. Thread-safe.
class StaticAnalyzer {
 public:
  virtual ~StaticAnalyzer() = default;
  /// Ok unless a static check refuses the point.
  /// Errors: kInvalidArgument with the reason.
  virtual Status Check(Point point) const = 0;
  /// Fills cost_model::FeatureCount() features. Errors: as Check.
  virtual Status Features(Point point, std::span<float> out) const = 0;
  /// The share of the target's threads' time in which they work, as far as loops tell
  /// (ParallelEfficiency of src/schedule/summary.h). 0 for a point that Check refuses.
  virtual double ThreadUtilization(Point) const { return 1; }
  /// Bytes from beyond a core's own caches for each arithmetic operation
  /// (CacheMissBytesPerOperation). 0 for a point that Check refuses.
  virtual double CacheMissBytes(Point) const { return 0; }
};

/// Applies the template and reads the loop summary; what lowering would refuse for the size of
/// its buffers in local or shared memory is refused here, without lowering. For the VTA it builds
/// the stream and counts.
class TemplateAnalyzer final : public StaticAnalyzer {
 public:
  /// The space outlives the inspector.
  explicit TemplateAnalyzer(const SearchSpace& space)
      : space_(space), limits_(LowerLimitsFor(space.task.target)) {}
  Status Check(Point point) const override;
  Status Features(Point point, std::span<float> out) const override;
  double ThreadUtilization(Point point) const override;
  double CacheMissBytes(Point point) const override;

 private:
  Result<LoopSummary> Describe(const TemplateEntry& entry, const Config& config) const;
  const SearchSpace& space_;
  LowerLimits limits_;
};

}  // namespace tilewright::search
