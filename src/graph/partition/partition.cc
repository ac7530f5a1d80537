#include "src/graph/partition/partition.h"

#include <limits>
#include <utility>

#include "src/graph/passes/pair_masks.h"
#include "src/graph/passes/reduce_transposed.h"
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
  const std::int64_t kept =
      rule.machine_code ? kFewestStepsOfLoop : std::numeric_limits<std::int64_t>::max();
  TW_ASSIGN_OR_RETURN(auto rewritten, rule.open_positions
                                          ? SeparateStates(std::move(graph))
                                          : UnrollRecurrences(std::move(graph), kept));
  if (rule.machine_code) {
    TW_ASSIGN_OR_RETURN(rewritten, SplitTransposed(std::move(rewritten)));
  }
  if (!rule.reduced_range_weights) return rewritten;
  return SetReducedRangeWeights(std::move(rewritten));
}

namespace {

/// The sites of a graph's anchors; each anchor gets the number of its site.
std::vector<PartitionSite> NumberSites(Graph& graph) {
  std::vector<PartitionSite> sites;
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOperator || !IsAnchor(node.op.kind)) continue;
    auto workload = Workload::FromOperator(node.op, graph.node(node.inputs[0]).type,
                                           graph.node(node.inputs[1]).type);
    if (!workload.ok()) workload = workload.status().WithContext(graph.DescribeOrigin(id));
    graph.SetSite(id, static_cast<int>(sites.size()));
    sites.push_back({std::string(SourceName(node.name)), std::move(workload), -1, {}});
  }
  return sites;
}

/// Enters the anchors of the groups into their sites.
void FillSites(PartitionedGraph& network) {
  for (const FusedGroup& group : network.groups) {
    if (!group.anchor) continue;
    const int number = network.graph.node(*group.anchor).site;
    if (number < 0) continue;
    PartitionSite& site = network.sites[static_cast<std::size_t>(number)];
    site.node = *group.anchor;
    site.epilogue = group.epilogue;
    const Node& node = network.graph.node(*group.anchor);
    const bool same = network.graph.precision == Precision::kAsInModel;
    if (same && node.op.kind != OpKind::kBatchMatmul) continue;
    site.workload = Workload::FromOperator(node.op, network.graph.node(node.inputs[0]).type,
                                           network.graph.node(node.inputs[1]).type);
  }
}

/// Partitions the result of UnfusedOperators.
Result<PartitionedGraph> PartitionOperators(Graph operators, const PartitionRule& rule,
                                            FoldExtent extent) {
  PartitionedGraph network;
  network.fuse = rule.fuse;
  network.sites = NumberSites(operators);
  TW_ASSIGN_OR_RETURN(network.graph, Optimize(std::move(operators), extent));
  if (rule.open_positions) {
    TW_ASSIGN_OR_RETURN(network.graph, ReduceUntransposed(std::move(network.graph)));
    TW_ASSIGN_OR_RETURN(network.graph, ComputePairMasks(std::move(network.graph)));
  }
  TW_ASSIGN_OR_RETURN(network.groups, FuseGroups(network.graph, rule.fuse));
  if (rule.machine_code) {
    TW_ASSIGN_OR_RETURN(network.graph, ReadColumns(std::move(network.graph), network.groups));
    TW_ASSIGN_OR_RETURN(network.groups, FuseGroups(network.graph, rule.fuse));
  }
  if (rule.wide_half) {
    TW_ASSIGN_OR_RETURN(auto wide, WidenHalf(std::move(network.graph), std::move(network.groups)));
    network.graph = std::move(wide.graph);
    network.groups = std::move(wide.groups);
  }
  if (network.graph.precision == Precision::kAsBFloat16) {
    if (!rule.machine_code) {
      return Unsupported("precision bfloat16: only for CPUs, which have kernels for it");
    }
    TW_ASSIGN_OR_RETURN(auto narrow,
                        NarrowToBFloat16(std::move(network.graph), std::move(network.groups)));
    network.graph = std::move(narrow.graph);
    network.groups = std::move(narrow.groups);
  }
  FillSites(network);
  return network;
}

}  // namespace

Result<PartitionedGraph> Partition(Graph graph, const PartitionRule& rule) {
  TW_ASSIGN_OR_RETURN(auto operators, UnfusedOperators(std::move(graph), rule));
  return PartitionOperators(std::move(operators), rule, FoldExtent::kAll);
}

Result<PartitionedGraph> PartitionWithoutContents(const Graph& operators, PartitionRule rule) {
  rule.wide_half = false;
  rule.reduced_range_weights = false;
  return PartitionOperators(operators.CloneWithout(kSmallConstant), rule, FoldExtent::kSmall);
}

Result<PartitionedGraph> Partition(Graph graph, const Target& target, bool fuse_residuals) {
  return Partition(std::move(graph), PartitionRuleFor(target, fuse_residuals));
}

}  // namespace tilewright
