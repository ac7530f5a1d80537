#pragma once

#include <string>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"
#include "src/target/target.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Which operators of a graph become one kernel on a kind of target.
struct PartitionRule {
  /// Kernels are machine code: transposed convolutions become convolutions (SplitTransposed). Other
  /// targets have no loops over steps (UnrollRecurrences).
  bool machine_code = true;
  /// The number of positions of a sequence is open: recurrences have states at their steps
  /// (SeparateStates), and masks of pairs are computed (ComputePairMasks). Else recurrences of few
  /// steps become operators on machine code, too.
  bool open_positions = false;
  /// Operators state that their weights are narrow (SetReducedRangeWeights).
  bool reduced_range_weights = false;
  /// Values in float16 inside of a group stay in float32 (WidenHalf).
  bool wide_half = true;
  FuseRule fuse = FuseRule::kUnrestricted;
};
/// fuse_residuals: on targets that store int8 after each operator, the sum with a residual is in
/// the group of the operator before it.
PartitionRule PartitionRuleFor(const Target& target, bool fuse_residuals);

/// The operators that kernels are made of: the graph (as imported) after the passes that the rule
/// names, not optimized. Errors: those of the passes.
Result<Graph> UnfusedOperators(Graph graph, const PartitionRule& rule);

/// One anchor of UnfusedOperators, and what it became in the partition.
struct PartitionSite {
  std::string value;          ///< name of the source value that the anchor computes or is part of
  Result<Workload> workload;  ///< of the operator in the source; errors name the operator
  /// The anchor in PartitionedGraph::graph; -1 if optimization removed it.
  int node = -1;
  Epilogue epilogue;  ///< of the anchor's group; empty without `node`
};

/// Optimized graph of a network, the groups of its operators, each of which becomes one kernel, and
/// the sites of its tunable workloads.
struct PartitionedGraph {
  Graph graph;
  std::vector<FusedGroup> groups;           ///< of `graph`, in topological order of their outputs
  std::vector<PartitionSite> sites;         ///< in the order of UnfusedOperators
  FuseRule fuse = FuseRule::kUnrestricted;  ///< the rule that made `groups`
};

/// Partitions a graph (as imported, or optimized already). Its constants must have contents.
/// Errors: those of the passes.
Result<PartitionedGraph> Partition(Graph graph, const PartitionRule& rule);
/// Partitions by PartitionRuleFor(target, fuse_residuals).
Result<PartitionedGraph> Partition(Graph graph, const Target& target, bool fuse_residuals);
/// Partitions the result of UnfusedOperators for ExtractTasks: contents of large constants are
/// neither needed nor made. Errors: those of the passes.
Result<PartitionedGraph> PartitionWithoutContents(const Graph& operators, PartitionRule rule);

}  // namespace tilewright
