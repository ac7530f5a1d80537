// Evaluation of all trees at once. The state of a walk is the index of a branch or of a leaf. A
// step is a few table look-ups by this index: the feature, the value that it is compared with, and
// the successor for each outcome. Leaves are their own successors, so all walks have as many steps
// as the deepest one.

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/ml/forest.h"

namespace tilewright {
namespace {
namespace forests {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kMaxTreeDepth = 512;  // ten operators for each step
constexpr double kInfiniteScore = std::numeric_limits<double>::infinity();

// Returns the number of steps of the longest walk; -1 after an error. Each branch must belong to
// exactly one tree.
std::int64_t DepthOf(OnnxNode& node, const Forest& forest) {
  std::vector<std::int32_t> level;
  for (std::int32_t root : forest.roots) {
    if (root >= 0) level.push_back(root);
  }
  std::int64_t depth = 0;
  for (; !level.empty(); ++depth) {
    if (depth == kMaxTreeDepth) {
      node.FailUnsupported("a tree is deeper than " + std::to_string(kMaxTreeDepth) + " branches");
      return -1;
    }
    std::vector<std::int32_t> next;
    for (std::int32_t branch : level) {
      auto ways = forest.branches[static_cast<std::size_t>(branch)].next;
      std::ranges::sort(ways);
      const auto end = std::unique(ways.begin(), ways.end());
      std::copy_if(ways.begin(), end, std::back_inserter(next), [](auto way) { return way >= 0; });
    }
    // The members of a set share a successor.
    std::ranges::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    level = std::move(next);
  }
  return depth;
}

// Returns the weights of the leaves by target: [leaves,targets], or [leaves] for one target.
Tensor LeafTable(const Forest& forest, DataType real) {
  using Aggregate = Forest::Aggregate;
  Shape shape{std::ssize(forest.leaves)};
  if (forest.targets > 1) shape.push_back(forest.targets);
  Tensor table(TensorType{shape, real});
  const double none = forest.aggregate == Aggregate::kMin   ? kInfiniteScore
                      : forest.aggregate == Aggregate::kMax ? -kInfiniteScore
                                                            : 0;
  for (std::int64_t i = 0; i < table.elements(); ++i) table.Set(i, none);
  for (std::size_t leaf = 0; leaf < forest.leaves.size(); ++leaf) {
    for (const auto& [target, weight] : forest.leaves[leaf]) {
      const std::int64_t at = static_cast<std::int64_t>(leaf) * forest.targets + target;
      const double before = table.At(at);
      table.Set(at, forest.aggregate == Aggregate::kMin   ? std::min(before, weight)
                    : forest.aggregate == Aggregate::kMax ? std::max(before, weight)
                                                          : before + weight);
    }
  }
  return table;
}

// Look-up tables by state of a walk, branches first.
struct Tables {
  int feature = -1, split = -1, next = -1;
};

Tables EmitTables(OnnxNode& node, const Forest& forest, DataType real) {
  const auto branches = std::ssize(forest.branches);
  const std::int64_t places = branches + std::ssize(forest.leaves);
  Tensor feature(TensorType{{places}, kInt32}), split(TensorType{{places}, real});
  Tensor next(TensorType{{4 * places}, kInt32});
  for (std::int64_t place = 0; place < places; ++place) {
    const bool leaf = place >= branches;
    const Forest::Branch branch =
        leaf ? Forest::Branch() : forest.branches[static_cast<std::size_t>(place)];
    feature.Set(place, static_cast<double>(branch.feature));
    split.Set(place, branch.split);
    for (std::size_t i = 0; i < 4; ++i) {
      const std::int64_t way = branch.next[i];
      const std::int64_t to = leaf ? place : way >= 0 ? way : branches + ~way;
      next.Set(4 * place + static_cast<std::int64_t>(i), static_cast<double>(to));
    }
  }
  return {node.EmitConstant(std::move(feature)), node.EmitConstant(std::move(split)),
          node.EmitConstant(std::move(next))};
}

int LookedUp(OnnxNode& node, int table, int places) {
  Operator gather{OpKind::kGather, {}};
  gather.attributes.axis = 0;
  return node.Emit(gather, {table, places});
}

// Emits the states of all walks after the next step.
int Step(OnnxNode& node, const Tables& tables, int flat, int begins, int places) {
  const int feature = LookedUp(node, tables.feature, places);
  const int x = LookedUp(node, flat, node.Emit(OpKind::kAdd, {feature, begins}));
  const int split = LookedUp(node, tables.split, places);
  const auto number = [&](double value) { return node.EmitScalar(kInt32, value); };
  const auto choose = [&](int condition, int yes, int no) {
    return node.Emit(OpKind::kWhere, {condition, yes, no});
  };
  const int greater = choose(node.Emit(OpKind::kLess, {split, x}), number(2), number(3));
  const int equal = choose(node.Emit(OpKind::kEqual, {x, split}), number(1), greater);
  const int outcome = choose(node.Emit(OpKind::kLess, {x, split}), number(0), equal);
  const int first = node.Emit(OpKind::kMul, places, 4);
  return LookedUp(node, tables.next, node.Emit(OpKind::kAdd, {first, outcome}));
}

// Checks that the data have the features that the trees read. Errors: kInvalidArgument.
void CheckFeatures(OnnxNode& node, const Forest& forest, const TensorType& rows) {
  for (const Forest::Branch& branch : forest.branches) {
    if (branch.feature >= 0 && branch.feature < rows.shape[1]) continue;
    return node.FailInvalid("a tree reads feature " + std::to_string(branch.feature) +
                            ", the data have " + std::to_string(rows.shape[1]));
  }
  if (rows.shape[0] > kMaxPicked || rows.elements() > std::numeric_limits<std::int32_t>::max()) {
    node.FailUnsupported("the data are " + rows.ToString() +
                         ", expected at most 2^22 rows and less than 2^31 elements");
  }
}

}  // namespace forests
}  // namespace

int EmitRows(OnnxNode& node, int data) {
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(data);
  if (type.shape.empty() || type.shape.size() > 2 ||
      (!type.dtype.is_float() && type.dtype != kInt32 && type.dtype != kInt64)) {
    node.FailInvalid("input 0 is " + type.ToString() +
                     ", expected floats, int32 or int64 of 1 or 2 dimensions");
    return -1;
  }
  const int rows = type.shape.size() == 2 ? data : node.EmitReshape(data, {1, type.shape[0]});
  return node.EmitCast(rows, type.dtype == kFloat64 ? kFloat64 : kFloat32);
}

int EmitForest(OnnxNode& node, int data, const Forest& forest, DataType real) {
  using namespace forests;  // NOLINT(google-build-using-namespace)
  if (!node.ok()) return -1;
  const TensorType rows = node.TypeOf(data);
  CheckFeatures(node, forest, rows);
  const std::int64_t depth = DepthOf(node, forest);
  if (!node.ok()) return -1;
  const auto trees = std::ssize(forest.roots), branches = std::ssize(forest.branches);
  const Tables tables = EmitTables(node, forest, real);
  const int flat = node.EmitReshape(data, {rows.elements()});
  const int begins = node.Emit(OpKind::kMul, EmitPositions(node, kInt32, rows.shape[0], 1),
                               static_cast<double>(rows.shape[1]));
  Tensor start(TensorType{{1, trees}, kInt32});
  for (std::int64_t i = 0; i < trees; ++i) {
    const std::int64_t root = forest.roots[static_cast<std::size_t>(i)];
    start.Set(i, static_cast<double>(root >= 0 ? root : branches + ~root));
  }
  int places = node.EmitConstant(std::move(start));
  for (std::int64_t i = 0; i < depth; ++i) places = Step(node, tables, flat, begins, places);
  const int leaf = node.Emit(OpKind::kSub, places, static_cast<double>(branches));
  const int values = LookedUp(node, node.EmitConstant(LeafTable(forest, real)), leaf);
  using Aggregate = Forest::Aggregate;
  Operator reduce{OpKind::kReduceSum, {}};
  if (forest.aggregate == Aggregate::kMin) reduce.kind = OpKind::kReduceMin;
  if (forest.aggregate == Aggregate::kMax) reduce.kind = OpKind::kReduceMax;
  reduce.attributes.axes = {1};
  int scores = node.Emit(reduce, {values});
  if (forest.aggregate == Aggregate::kAverage) {
    scores = node.Emit(OpKind::kDiv, scores, static_cast<double>(trees));
  }
  if (forest.aggregate == Aggregate::kMin || forest.aggregate == Aggregate::kMax) {
    // Targets without a weight in any tree.
    const int none = node.Emit(OpKind::kEqual, node.Emit(OpKind::kAbs, {scores}), kInfiniteScore);
    scores = node.Emit(OpKind::kWhere, {none, node.EmitScalar(real, 0), scores});
  }
  Operator repeat{OpKind::kBroadcastTo, {}};
  repeat.attributes.new_shape = {rows.shape[0], forest.targets};
  scores = node.EmitReshape(scores, {depth == 0 ? 1 : rows.shape[0], forest.targets});
  return depth == 0 ? node.Emit(repeat, {scores}) : scores;
}

}  // namespace tilewright
