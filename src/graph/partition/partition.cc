#include "src/graph/partition/partition.h"

#include <utility>

#include "src/target/cpu.h"
#include "src/target/device.h"

namespace tilewright {

PartitionRule PartitionRuleFor(const Target& target, bool fuse_residuals) {
  const DeviceTraits& device = DeviceTraitsOf(target);
  PartitionRule rule;
  rule.machine_code = device.machine_code;
  if (device.machine_code) {
    // Elsewhere there is nothing to gain, and records would be of fewer networks.
    const auto features = FeaturesOf(target);
    rule.reduced_range_weights = features.ok() && features->has_saturating_dot();
  }
  rule.wide_half = !device.has_host_fallback;
  if (device.has_host_fallback) {
    rule.fuse = fuse_residuals ? FuseRule::kUntilInt8WithResidual : FuseRule::kUntilInt8;
  }
  return rule;
}

Result<Graph> UnfusedOperators(Graph graph, const PartitionRule& rule) {
  TW_ASSIGN_OR_RETURN(auto rewritten, rule.machine_code ? SplitTransposed(std::move(graph))
                                                        : UnrollRecurrences(std::move(graph)));
  if (!rule.reduced_range_weights) return rewritten;
  return SetReducedRangeWeights(std::move(rewritten));
}

Result<GraphWithGroups> Partition(Graph graph, const PartitionRule& rule) {
  TW_ASSIGN_OR_RETURN(auto operators, UnfusedOperators(std::move(graph), rule));
  TW_ASSIGN_OR_RETURN(auto optimized, Optimize(std::move(operators)));
  TW_ASSIGN_OR_RETURN(auto groups, FuseGroups(optimized, rule.fuse));
  if (!rule.wide_half) return GraphWithGroups{std::move(optimized), std::move(groups)};
  return WidenHalf(std::move(optimized), std::move(groups));
}

}  // namespace tilewright
