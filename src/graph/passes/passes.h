#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/target/target.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Passes return a new graph; nodes no output needs are dropped, inputs and the names of outputs
/// stay. Every value with a name of the source ("r0", not "r0#1") has the value it has there.

/// Which constants FoldConstants computes.
enum class FoldExtent : std::uint8_t {
  kAll,    ///< all; results of more than 1 GiB stay operators
  kSmall,  ///< of more than kSmallConstant elements: a constant without contents, in no time
};
/// Constants up to this size decide which operators there are and how they fuse (scalars, mostly).
inline constexpr std::int64_t kSmallConstant = 4096;
/// Makes a constant of every operator whose inputs are constants; one without contents if an input
/// has none (so seed constants first).
Result<Graph> FoldConstants(Graph graph, FoldExtent extent = FoldExtent::kAll);
/// conv/dense -> batch_norm, mul, add, … by per-channel constants into weight and one addition; a
/// batch_norm elsewhere into mul and add.
Result<Graph> FoldBatchNorm(Graph graph);
/// Removes identities, casts and moves that change nothing, moves of moves, clips of clipped
/// values; computes equal operators once; finds hard_swish; has reshapes of matrix products behind
/// the operators that follow, elementwise or on rows. Anchors stay as they are: a pad in front of a
/// convolution does too, because merging it would make another task of the convolution.
Result<Graph> Simplify(Graph graph);
/// All of these, in the order that compiling uses.
Result<Graph> Optimize(Graph graph, FoldExtent extent = FoldExtent::kAll);

/// Transposed convolutions whose kernel is their stride, without padding, as 1x1 convolutions with
/// more channels, of which a transposition makes rows and columns behind the elementwise operators
/// that follow. Needs no contents.
Result<Graph> SplitTransposed(Graph graph);

/// States of convolutions and dense layers of 8-bit data whether their constant weights are narrow
/// (Workload::reduced_range_weights), as they are after an importer's operators on them
/// (transpositions, zero points taken off). Constants without contents are not.
Result<Graph> SetReducedRangeWeights(Graph graph);

/// Recurrences as operators, step after step, for what has no loops of them. Needs no contents.
/// Errors: kUnsupported naming a value with more than kMaxUnrolledSteps steps.
Result<Graph> UnrollRecurrences(Graph graph);

/// Where a group of operators must end.
enum class FuseRule : std::uint8_t {
  kUnrestricted,  ///< anywhere
  kUntilInt8,     ///< behind every operator that makes int8: what the VTA stores
  /// The same, but the sum with a residual may follow: it widens again and ends in int8 too.
  kUntilInt8WithResidual,
};

/// One kernel: an anchor with its epilogue, or a chain of other operators.
struct FusedGroup {
  std::vector<int> nodes;     ///< operator nodes, topological; the last one is the group's result
  std::optional<int> anchor;  ///< node id of the anchor, if there is one
  Epilogue epilogue;          ///< of the anchor: the followers in `nodes`
  std::vector<int> inputs;    ///< anchor: data, weight, then the operands of the epilogue's steps;
                              ///< else the values read from outside, each once
  int output = -1;            ///< node id whose value the group makes
  /// Only reshapes and identities: no kernel, the output is the memory of inputs[0] (one input)
  /// under another shape.
  bool alias = false;
};
/// Every operator node is in exactly one group; groups in topological order of their outputs.
///
/// Behind an anchor come elementwise followers, as long as each value on the way has one use and is
/// no output of the graph. The operand of a step is a scalar constant (in the step, not in
/// `inputs`), a constant with one element per channel ([K], [K,1,1], [K/16,1,1,1,16], …: its
/// elements in row-major order are the channels), or a value of the result's shape; a cast that
/// only this step reads is part of it (operand_dtype). A sum of two chains belongs to the later
/// anchor. A value of several uses may follow, too, if what reads it is elementwise, works on its
/// results one after the other and ends in one value that is all the rest of the graph reads, such
/// as x * sigmoid(x) (by kUnrestricted only). Identities on the way are in `nodes` without a step.
/// Other groups: one operator of any kind, then, unless it is a softmax, a concat or an alias,
/// elementwise operators on its result (same shape); the value each of them adds to may be cast. By
/// kUnrestricted, operators on the same rows (elementwise, choices, reductions of the last
/// dimensions that stay as one element, softmax along the last one) are one group from the first
/// that reads what others made to the last one before which nothing leaves: a layer normalization,
/// with the sum before it, say.
Result<std::vector<FusedGroup>> FuseGroups(const Graph& graph,
                                           FuseRule rule = FuseRule::kUnrestricted);
/// A graph with the groups of its operators.
struct GraphWithGroups {
  Graph graph;
  std::vector<FusedGroup> groups;
};
/// Keeps float16 values that a group without an anchor makes on the way to its result in float32,
/// as anchors with followers do: casts before and behind them become nodes of graph and group. A
/// cast to float16 that the network has rounds. Groups stay as they are otherwise. Values with
/// names of the source keep their types.
Result<GraphWithGroups> WidenHalf(Graph graph, std::vector<FusedGroup> groups);
/// Whether the node is a cast that WidenHalf added.
bool IsHalfWideningCast(const Graph& graph, int id);
/// The values that operators `nodes` (sorted) read and none of them makes, each once.
std::vector<int> InputsOf(const Graph& graph, const std::vector<int>& nodes);
/// Groups that may be one kernel.
struct JoinedGroups {
  FusedGroup whole;                ///< without an anchor
  std::vector<std::size_t> parts;  ///< positions of the groups, ascending
};
/// Attention: the product of queries and keys with its followers, a softmax with its own, and the
/// product of that with the values, with moves (reshapes, transpositions, slices) before, between
/// and behind them. Nothing else reads what is made on the way. Groups are in at most one of them.
std::vector<JoinedGroups> FindAttention(const Graph& graph, const std::vector<FusedGroup>& groups);
/// "conv2d + add, relu": the name of the first operator, `main`, and its followers.
std::string DescribeGroup(const Graph& graph, const FusedGroup& group, const std::string& main);

}  // namespace tilewright
