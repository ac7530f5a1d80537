#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/target/target.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Passes return a new graph. They drop nodes that no output needs, and keep inputs and the names
/// of outputs. Every value with a name of the source ("r0", not "r0#1") keeps its value.

/// Constants that FoldConstants computes.
enum class FoldExtent : std::uint8_t {
  kAll,    ///< all of them; results of more than 1 GiB stay operators
  kSmall,  ///< up to kSmallConstant elements; larger results become constants without contents
};
/// Constants up to this size (mostly scalars) determine which operators remain and how they fuse.
inline constexpr std::int64_t kSmallConstant = 4096;
/// Replaces every operator whose inputs are constants by a constant. The constant has no contents
/// if an input has none, so call SeedConstants first.
Result<Graph> FoldConstants(Graph graph, FoldExtent extent = FoldExtent::kAll);
/// Folds per-channel constants (batch_norm, mul, add, …) after conv/dense into the weight and one
/// addition. Converts a batch_norm elsewhere into mul and add.
Result<Graph> FoldBatchNorm(Graph graph);
/// Removes identities, casts and data movement without effect, and clips of clipped values. Merges
/// consecutive data movement operators. Computes equal operators once. Recognizes hard_swish. Moves
/// reshapes of matrix products and 1-D convolutions after operators on elements or rows. Keeps
/// anchors unchanged: merging a pad into a convolution would change the task of the convolution.
Result<Graph> Simplify(Graph graph);
/// Runs all of these passes in the order of the compiler.
Result<Graph> Optimize(Graph graph, FoldExtent extent = FoldExtent::kAll);

/// Replaces transposed convolutions by convolutions of their stride phases, which multiply no zeros
/// (see transposed_phases.h for the exceptions). A transposition turns the phases into rows and
/// columns after the elementwise operators that follow. If the data are 8-bit integers minus a zero
/// point, the convolutions read the integers. Needs no contents but those of zero points.
Result<Graph> SplitTransposed(Graph graph);

/// Sets Workload::reduced_range_weights of convolutions and dense layers of 8-bit data whose
/// constant weights are within the reduced range. Applies the importer's operators on the weights
/// (transpositions, subtraction of zero points) first. Constants without contents do not count as
/// reduced-range.
Result<Graph> SetReducedRangeWeights(Graph graph);

/// Unrolls recurrences of fewer than `kept` steps into the operators of each step: all, for back
/// ends without loops for them. Needs no contents.
/// Errors: kUnsupported, naming a value with more than kMaxUnrolledSteps steps.
Result<Graph> UnrollRecurrences(Graph graph,
                                std::int64_t kept = std::numeric_limits<std::int64_t>::max());
/// Fewer steps are faster as operators: in a loop, 2 steps of an LSTM of 128 units take 1.3 times
/// as long; 4 steps take about as long.
inline constexpr std::int64_t kFewestStepsOfLoop = 5;
/// Gives recurrences results of one row for each step (StepResults::kAlone, or kWithStates if a
/// state that is not the result is read), and takes their last states from the last row. Keeps
/// recurrences that slices of the importer alone do not read. Needs no contents.
Result<Graph> SeparateStates(Graph graph);

/// Values at which a group of operators must end.
enum class FuseRule : std::uint8_t {
  kUnrestricted,  ///< none
  kUntilInt8,     ///< the result of every operator that makes int8, which the VTA stores
  /// The same, but the sum with a residual may follow: it widens to int32 and ends in int8 again.
  kUntilInt8WithResidual,
};

/// Operators of one kernel: an anchor with its epilogue, or a chain of other operators.
struct FusedGroup {
  std::vector<int> nodes;     ///< operator nodes, topological; the last one is the group's result
  std::optional<int> anchor;  ///< node id of the anchor, if any
  Epilogue epilogue;          ///< of the anchor: the followers in `nodes`
  std::vector<int> inputs;    ///< anchor: data, weight, then the operands of the epilogue's steps;
                              ///< else the values read from outside, each once
  int output = -1;            ///< node id of the group's result
  /// True for only reshapes and identities: no kernel. The output is the memory of inputs[0] (the
  /// only input) with another shape.
  bool alias = false;
};
/// Partitions the operator nodes into groups. Every operator node is in exactly one group; groups
/// are in topological order of their outputs.
///
/// Elementwise followers join an anchor as long as each value in between has one use and is no
/// output of the graph. The operand of a step is one of: a scalar constant (in the step, not in
/// `inputs`); a constant with one element per channel ([K], [K,1,1], [K/16,1,1,1,16], …: its
/// elements in row-major order are the channels); a value of the result's shape; after integer sums
/// (kUnrestricted) also a computed value with one element, with one per channel or, after a matrix
/// product, with other dimensions of the result. A cast that only this step reads is part of it
/// (operand_dtype). A sum of two chains belongs to the later anchor.
/// By kUnrestricted, a value of several uses may also be followed by elementwise operators that
/// form a chain ending in the only value that the rest of the graph reads, such as x * sigmoid(x).
/// Identities in between are in `nodes` without a step.
/// A group without an anchor begins with one operator of any kind. Unless that is a softmax, a
/// concat or an alias, elementwise operators on its result (same shape) follow; a cast may
/// precede each of them. By kUnrestricted, operators on the same rows (elementwise, selects,
/// reductions of the last dimensions to one element, softmax along the last one) form one group. It
/// extends from the first operator that reads a value from outside to the last one whose result is
/// the only one read outside: for example, a layer normalization with the sum before it.
Result<std::vector<FusedGroup>> FuseGroups(const Graph& graph,
                                           FuseRule rule = FuseRule::kUnrestricted);
/// Graph with the groups of its operators.
struct GraphWithGroups {
  Graph graph;
  std::vector<FusedGroup> groups;
};
/// Keeps intermediate float16 values of groups without an anchor in float32, as anchors with
/// followers do. Adds casts before and after them to the graph and the group. A cast to float16
/// that the network contains still rounds. Groups are otherwise unchanged. Values with names of the
/// source keep their types.
Result<GraphWithGroups> WidenHalf(Graph graph, std::vector<FusedGroup> groups);
/// Rounds the operands of convolutions (of one group and 8 or more channels) and matrix products to
/// bfloat16, and stores results of groups so, where all readers can read them. Other operators
/// compute in float32, and so do products of Graph::float32_products. Groups are otherwise
/// unchanged. Outputs of the graph keep their types.
Result<GraphWithGroups> NarrowToBFloat16(Graph graph, std::vector<FusedGroup> groups);
/// Returns true if WidenHalf added the node, which is a cast.
bool IsHalfWideningCast(const Graph& graph, int id);
/// Returns the values that operators `nodes` (sorted) read and none of them computes, each once.
std::vector<int> InputsOf(const Graph& graph, const std::vector<int>& nodes);
/// Groups that one kernel can compute.
struct JoinedGroups {
  FusedGroup whole;                ///< without an anchor
  std::vector<std::size_t> parts;  ///< positions of the groups, ascending
};
/// Finds attention: the product of queries and keys with its followers, a softmax with its
/// followers, and the product of that with the values. Data movement operators (reshapes,
/// transpositions, slices) may be before, between and after them. Nothing else reads the
/// intermediate values. A group is in at most one attention.
std::vector<JoinedGroups> FindAttention(const Graph& graph, const std::vector<FusedGroup>& groups);
/// Makes products of batches read a second operand [B,K,N] itself (kernel layout BKN) instead of
/// its transposition. Keeps products that FindAttention finds in `groups`, whose kernel reads
/// transpositions as accesses, unless they have fewer rows than such a kernel.
Result<Graph> ReadColumns(Graph graph, const std::vector<FusedGroup>& groups);
/// Describes a group: "conv2d + add, relu", the name of the first operator, `main`, and its
/// followers.
std::string DescribeGroup(const Graph& graph, const FusedGroup& group, const std::string& main);

}  // namespace tilewright
