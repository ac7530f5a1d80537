#pragma once

#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"
#include "src/target/target.h"

namespace tilewright {

/// Which operators of a graph become one kernel on a kind of target.
struct PartitionRule {
  /// Kernels are machine code: transposed convolutions that are 1x1 convolutions become those
  /// (SplitTransposed). Other targets have no loops over steps (UnrollRecurrences).
  bool machine_code = true;
  /// Operators state that their weights are narrow (SetReducedRangeWeights).
  bool reduced_range_weights = false;
  /// Values in float16 inside of a group stay in float32 (WidenHalf).
  bool wide_half = true;
  FuseRule fuse = FuseRule::kUnrestricted;
};
/// fuse_residuals: on targets that store int8 behind each operator, the sum with a residual is in
/// the group of the operator before it.
PartitionRule PartitionRuleFor(const Target& target, bool fuse_residuals);

/// The operators that kernels are made of: the graph (as imported) after the passes that the rule
/// names, not optimized. Errors: those of the passes.
Result<Graph> UnfusedOperators(Graph graph, const PartitionRule& rule);

/// An optimized graph and the groups of its operators, each of which becomes one kernel. graph: as
/// imported; its constants must have contents. Errors: those of the passes.
Result<GraphWithGroups> Partition(Graph graph, const PartitionRule& rule);

}  // namespace tilewright
