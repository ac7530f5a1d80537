#pragma once

#include <span>

#include "search/strategy.h"
#include "src/schedule/summary.h"
#include "src/templates/limits.h"

namespace tilewright::search {

/// Interface for static checks and features of points, without building them. Thread-safe.
class StaticAnalyzer {
 public:
  virtual ~StaticAnalyzer() = default;
  /// Returns Ok unless a static check rejects the point. Errors: kInvalidArgument with the reason.
  virtual Status Check(Point point) const = 0;
  /// Fills cost_model::FeatureCount() features. Errors: as Check.
  virtual Status Features(Point point, std::span<float> out) const = 0;
  /// Returns the busy share of the target's threads, as far as the loops determine it
  /// (ParallelEfficiency of src/schedule/summary.h). 0 for a point that Check rejects.
  virtual double ThreadUtilization(Point) const { return 1; }
  /// Returns the bytes loaded from beyond a core's private caches for each arithmetic operation
  /// (CacheMissBytesPerOperation). 0 for a point that Check rejects.
  virtual double CacheMissBytes(Point) const { return 0; }
};

/// Static analyzer that applies the template and reads the loop summary. Rejects points whose
/// buffers in local or shared memory lowering would reject for their size, without lowering. For
/// the VTA it builds the stream and counts instructions.
class TemplateAnalyzer final : public StaticAnalyzer {
 public:
  /// space: has to outlive the analyzer.
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
