// Numeric operators of ai.onnx.ml: tree ensembles and scaling.

#include <algorithm>
#include <cmath>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/ml/forest.h"

namespace tilewright {
namespace {
namespace ensembles {

using Shape = std::vector<std::int64_t>;

int Choose(OnnxNode& node, int condition, int yes, int no) {
  return node.Emit(OpKind::kWhere, {condition, yes, no});
}

// Checks the targets of weights and the size of the table. Errors: kInvalidArgument for weights of
// targets that do not exist, and for too many targets.
void CheckTargets(OnnxNode& node, const Forest& forest) {
  constexpr std::int64_t kMaxTargets = 65'536;
  if (forest.targets < 1 || forest.targets > kMaxTargets) {
    return node.FailInvalid(std::to_string(forest.targets) + " targets, expected 1 to " +
                            std::to_string(kMaxTargets));
  }
  if (std::ssize(forest.leaves) > OnnxImport::kMaxConstantBytes / 8 / forest.targets) {
    return node.FailUnsupported(std::to_string(forest.leaves.size()) + " leaves of " +
                                std::to_string(forest.targets) +
                                " targets, expected at most 2^25 weights in total");
  }
  for (const Forest::Leaf& leaf : forest.leaves) {
    for (const auto& [target, weight] : leaf) {
      if (target >= 0 && target < forest.targets) continue;
      return node.FailInvalid("a leaf has a weight for target " + std::to_string(target) +
                              ", expected 0 to " + std::to_string(forest.targets - 1));
    }
  }
}

// Adds the base values as a row to scores. There are as many base values as targets, or none.
int WithBase(OnnxNode& node, int scores, const std::vector<double>& base) {
  if (base.empty() || !node.ok()) return scores;
  Tensor row(TensorType{{std::ssize(base)}, node.TypeOf(scores).dtype});
  for (std::size_t i = 0; i < base.size(); ++i) row.Set(static_cast<std::int64_t>(i), base[i]);
  return node.Emit(OpKind::kAdd, {scores, node.EmitConstant(std::move(row))});
}

void CheckBase(OnnxNode& node, std::size_t seen, std::int64_t targets) {
  if (seen == 0 || static_cast<std::int64_t>(seen) == targets || !node.ok()) return;
  node.FailInvalid("attribute base_values has " + std::to_string(seen) + " numbers, expected " +
                   std::to_string(targets));
}

Forest::Aggregate AggregateNamed(OnnxNode& node) {
  using Aggregate = Forest::Aggregate;
  const std::string name = node.String("aggregate_function", "SUM");
  if (name == "AVERAGE") return Aggregate::kAverage;
  if (name == "MIN") return Aggregate::kMin;
  if (name == "MAX") return Aggregate::kMax;
  if (name != "SUM") {
    node.FailInvalid("attribute aggregate_function is " + name +
                     ", expected SUM, AVERAGE, MIN or MAX");
  }
  return Aggregate::kSum;
}

// For a single target the scores stay unchanged, as in ONNX Runtime, except with PROBIT.
ScoreTransform OfTargets(ScoreTransform transform, std::int64_t targets) {
  return targets == 1 && transform != ScoreTransform::kProbit ? ScoreTransform::kNone : transform;
}

void ImportTreeRegressor(OnnxNode& node) {
  const int data = EmitRows(node, node.Input(0));
  Forest forest = ReadForest(node, "target");
  forest.targets = node.Int("n_targets", 1);
  forest.aggregate = AggregateNamed(node);
  const auto base = FloatsOrTensor(node, "base_values");
  const ScoreTransform transform = ReadTransform(node);
  CheckBase(node, base.size(), forest.targets);
  if (node.ok()) CheckTargets(node, forest);
  if (!node.ok()) return;
  const int scores = WithBase(node, EmitForest(node, data, forest, node.TypeOf(data).dtype), base);
  const int narrow = node.EmitCast(scores, kFloat32);
  node.SetOutput(EmitTransformed(node, narrow, OfTargets(transform, forest.targets)));
}

void ImportTreeEnsemble(OnnxNode& node) {
  const int given = node.Input(0);
  const int data = EmitRows(node, given);
  Forest forest = ReadIndexedForest(node);
  forest.targets = node.Int("n_targets", 1);
  const std::int64_t aggregate = node.Int("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3) {
    node.FailInvalid("attribute aggregate_function is " + std::to_string(aggregate) +
                     ", expected 0 to 3");
  }
  const ScoreTransform transform = ReadTransform(node);
  if (node.ok()) CheckTargets(node, forest);
  if (!node.ok()) return;
  forest.aggregate = static_cast<Forest::Aggregate>(aggregate);
  const int scores = EmitForest(node, data, forest, node.TypeOf(data).dtype);
  const int made = EmitTransformed(node, scores, OfTargets(transform, forest.targets));
  node.SetOutput(node.EmitCast(made, node.TypeOf(given).dtype));
}

bool HasWeight(const Forest::Leaf& leaf, std::int64_t target) {
  return std::ranges::any_of(leaf, [&](const auto& weight) { return weight.first == target; });
}

// Returns whether each walk through the tree ends at a leaf that has a weight of the class.
bool AlwaysScores(const Forest& forest, std::int32_t root, std::int64_t target) {
  std::vector<std::int32_t> open{root};
  std::vector<bool> seen(forest.branches.size());
  while (!open.empty()) {
    const std::int32_t place = open.back();
    open.pop_back();
    if (place < 0) {
      if (!HasWeight(forest.leaves[static_cast<std::size_t>(~place)], target)) return false;
      continue;
    }
    if (seen[static_cast<std::size_t>(place)]) continue;
    seen[static_cast<std::size_t>(place)] = true;
    const auto& ways = forest.branches[static_cast<std::size_t>(place)].next;
    open.insert(open.end(), ways.begin(), ways.end());
  }
  return true;
}

// Whether all walks through the trees give a class a score, or none does.
struct Coverage {
  bool every = false, any = false;
};
Coverage CoverageOf(const Forest& forest, std::int64_t target) {
  Coverage coverage;
  for (const Forest::Leaf& leaf : forest.leaves) {
    coverage.any = coverage.any || HasWeight(leaf, target);
  }
  for (std::int32_t root : forest.roots) {
    if (!coverage.any || coverage.every) break;
    coverage.every = AlwaysScores(forest, root, target);
  }
  return coverage;
}

bool AllPositive(const Forest& forest) {
  return std::ranges::all_of(forest.leaves, [](const Forest::Leaf& leaf) {
    return std::ranges::all_of(leaf, [](const auto& weight) { return weight.second >= 0; });
  });
}

int Pair(OnnxNode& node, int low, int high) {
  Operator join{OpKind::kConcat, {}};
  join.attributes.axis = 1;
  return node.Emit(join, {low, high});
}

// Converts class indices, int32 [N,1], to labels [N].
int Labels(OnnxNode& node, int numbers, const Shape& labels) {
  if (!node.ok()) return -1;
  Tensor table(TensorType{{std::ssize(labels)}, kInt64});
  std::ranges::copy(labels, table.As<std::int64_t>().begin());
  Operator gather{OpKind::kGather, {}};
  gather.attributes.axis = 0;
  const int flat = node.EmitReshape(numbers, {node.TypeOf(numbers).shape[0]});
  return node.Emit(gather, {node.EmitConstant(std::move(table)), flat});
}

struct Classified {
  int numbers = -1, scores = -1;  // int32 [N,1], [N,classes]
};

// Classifies two classes. If all weights belong to one of them, the score is that of the second
// class, with threshold 0.5 (if all weights are positive) or 0, and the other score is its
// complement.
Classified OfTwo(OnnxNode& node, const Forest& forest, int scores, const std::vector<double>& base,
                 ScoreTransform transform) {
  const Coverage first = CoverageOf(forest, 0), second = CoverageOf(forest, 1);
  if (second.any && !second.every) {
    node.FailUnsupported(
        "class 1 of two has weights in some walks through the trees only, "
        "expected it to have one in each, or in none");
    return {};
  }
  const bool positive = AllPositive(forest), one_class = first.any != second.any;
  const double bound = one_class && positive ? 0.5 : 0;
  const auto decided = [&](int score, int low, int high) {
    const DataType dtype = node.ok() ? node.TypeOf(score).dtype : kFloat32;
    const int above = node.Emit(OpKind::kLess, {node.EmitScalar(dtype, bound), score});
    const int number = Choose(node, above, node.EmitScalar(kInt32, 1), node.EmitScalar(kInt32, 0));
    return Classified{number, EmitTransformed(node, Pair(node, low, high), transform)};
  };
  int low = EmitColumn(node, scores, 0), high = EmitColumn(node, scores, 1);
  if (base.size() == 2 && second.any) {
    high = node.Emit(OpKind::kAdd, low, base[1]);
    return decided(high, first.any ? node.Emit(OpKind::kNegate, {high}) : low, high);
  }
  if (!base.empty() && first.any) low = node.Emit(OpKind::kAdd, low, base[0]);
  if (second.any) return decided(high, low, high);
  if (base.size() == 2) return decided(low, low, high);  // the complement stays zero
  if (transform == ScoreTransform::kProbit) {
    node.FailUnsupported(
        "post_transform PROBIT of two classes with weights of one of them is not "
        "defined, expected another one");
    return {};
  }
  const int opposite = node.Emit(OpKind::kNegate, {low});
  if (transform != ScoreTransform::kLogistic) transform = ScoreTransform::kNone;
  const bool rest = positive && transform == ScoreTransform::kNone;
  return decided(low, rest ? node.Emit(OpKind::kAdd, opposite, 1) : opposite, low);
}

void ImportTreeClassifier(OnnxNode& node) {
  const int data = EmitRows(node, node.Input(0));
  Forest forest = ReadForest(node, "class");
  Shape labels = node.LongInts("classlabels_int64s");
  const auto texts = node.Strings("classlabels_strings");
  const auto base = FloatsOrTensor(node, "base_values");
  const ScoreTransform transform = ReadTransform(node);
  if (labels.empty() == texts.empty()) {
    node.FailInvalid("expected one of the attributes classlabels_int64s and classlabels_strings");
  }
  forest.targets = std::ssize(texts.empty() ? labels : Shape(texts.size()));
  if (node.ok() && forest.targets < 2) {
    node.FailUnsupported("a classifier of one class, expected at least two");
  }
  const bool two_with_one_base = forest.targets == 2 && base.size() == 1;
  if (!two_with_one_base) CheckBase(node, base.size(), forest.targets);
  if (node.ok()) CheckTargets(node, forest);
  if (!node.ok()) return;
  const int sums = EmitForest(node, data, forest, node.TypeOf(data).dtype);
  Classified made;
  if (forest.targets == 2) {
    made = OfTwo(node, forest, sums, base, transform);
  } else {
    const bool counts = base.empty() && !AllPositive(forest);  // an absent score is not zero
    for (std::int64_t i = 0; counts && i < forest.targets; ++i) {
      const Coverage coverage = CoverageOf(forest, i);
      if (coverage.every) continue;
      return node.FailUnsupported("class " + std::to_string(i) +
                                  " has weights in some walks through the trees only, and some "
                                  "weights are below zero; expected one in each walk");
    }
    const int scores = WithBase(node, sums, base);
    // The first of equal scores counts.
    const int largest = EmitArgExtreme(node, scores, OpKind::kReduceMax, 1, false, true);
    made = {largest, EmitTransformed(node, scores, transform)};
  }
  if (node.HasOutput(1)) node.SetOutput(node.EmitCast(made.scores, kFloat32), 1);
  if (!node.HasOutput(0)) return;
  if (texts.empty()) return node.SetOutput(Labels(node, made.numbers, labels));
  node.OmitOutput(
      0,
      "has string labels, which are not supported: train the model with integer labels, or use "
      "only the scores (output 1)");
}

// (x - offset) * scale
void ImportScaler(OnnxNode& node) {
  const int data = node.Input(0);
  const auto offset = node.Floats("offset"), scale = node.Floats("scale");
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(data);
  const std::int64_t features = type.shape.empty() ? 1 : type.shape.back();
  for (const auto* list : {&offset, &scale}) {
    if (list->size() == 1 || std::ssize(*list) == features) continue;
    return node.FailInvalid("attribute " + std::string(list == &offset ? "offset" : "scale") +
                            " has " + std::to_string(list->size()) + " numbers, expected 1 or " +
                            std::to_string(features));
  }
  if (!type.dtype.is_float() && type.dtype != kInt32 && type.dtype != kInt64) {
    return node.FailInvalid("input 0 is " + type.ToString() + ", expected floats, int32 or int64");
  }
  const auto row = [&](const std::vector<double>& values) {
    Tensor numbers(TensorType{values.size() == 1 ? Shape() : Shape{features}, kFloat32});
    for (std::int64_t i = 0; i < numbers.elements(); ++i) {
      numbers.Set(i, values[static_cast<std::size_t>(i)]);
    }
    return node.EmitConstant(std::move(numbers));
  };
  const int centred = node.Emit(OpKind::kSub, {node.EmitCast(data, kFloat32), row(offset)});
  node.Return(Operator{OpKind::kMul, {}}, {centred, row(scale)});
}

// sqrt(2) times the inverse of the error function at 2 x - 1, in ONNX Runtime's approximation.
int Probit(OnnxNode& node, int x) {
  constexpr double kPi = 3.14159, kA = 0.147;
  const int moved = node.Emit(OpKind::kSub, node.Emit(OpKind::kMul, x, 2), 1);
  const int rest = node.Emit(OpKind::kAdd, node.Emit(OpKind::kNegate, {moved}), 1);
  const int log =
      node.Emit(OpKind::kLog, {node.Emit(OpKind::kMul, {rest, node.Emit(OpKind::kAdd, moved, 1)})});
  const int v = node.Emit(OpKind::kAdd, node.Emit(OpKind::kMul, log, 0.5), 2 / (kPi * kA));
  const int square = node.Emit(OpKind::kMul, {v, v});
  const int inner = node.Emit(OpKind::kSub, {square, node.Emit(OpKind::kMul, log, 1 / kA)});
  const int root =
      node.Emit(OpKind::kSqrt, {node.Emit(OpKind::kSub, {node.Emit(OpKind::kSqrt, {inner}), v})});
  const int below = node.Emit(OpKind::kLess, moved, 0);
  const int value = Choose(node, below, node.Emit(OpKind::kNegate, {root}), root);
  return node.Emit(OpKind::kMul, value, 1.41421356);
}

// Softmax over nonzero scores; zeros stay zero.
int SoftmaxZero(OnnxNode& node, int scores) {
  constexpr double kZero = 0.0000001;
  Operator most{OpKind::kReduceMax, {}}, sum{OpKind::kReduceSum, {}};
  most.attributes.axes = sum.attributes.axes = {1};
  most.attributes.keepdims = sum.attributes.keepdims = true;
  const int largest = node.Emit(most, {scores});
  const int magnitude = node.Emit(OpKind::kAbs, {scores});
  const int bound = node.EmitScalar(node.ok() ? node.TypeOf(scores).dtype : kFloat32, kZero);
  const int counts = node.Emit(OpKind::kLess, {bound, magnitude});
  const int power = node.Emit(OpKind::kExp, {node.Emit(OpKind::kSub, {scores, largest})});
  const int zero = node.EmitScalar(node.ok() ? node.TypeOf(scores).dtype : kFloat32, 0);
  const int powers = Choose(node, counts, power, zero);
  const int whole = node.Emit(sum, {powers});
  const int none = node.Emit(OpKind::kEqual, whole, 0);
  const int one = node.EmitScalar(node.ok() ? node.TypeOf(scores).dtype : kFloat32, 1);
  return node.Emit(OpKind::kDiv, {powers, Choose(node, none, one, whole)});
}

constexpr OnnxHandlerEntry kEntries[] = {
    {"Scaler", &ImportScaler},
    {"TreeEnsemble", &ImportTreeEnsemble},
    {"TreeEnsembleClassifier", &ImportTreeClassifier},
    {"TreeEnsembleRegressor", &ImportTreeRegressor},
};

}  // namespace ensembles
}  // namespace

std::span<const OnnxHandlerEntry> MlHandlers() { return ensembles::kEntries; }

ScoreTransform ReadTransform(OnnxNode& node) {
  constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  if (node.op_type() == "TreeEnsemble") {
    const std::int64_t number = node.Int("post_transform", 0);
    if (number >= 0 && number < std::ssize(kNames)) return static_cast<ScoreTransform>(number);
    node.FailInvalid("attribute post_transform is " + std::to_string(number) + ", expected 0 to 4");
    return ScoreTransform::kNone;
  }
  const std::string name = node.String("post_transform", "NONE");
  const auto found = std::ranges::find(kNames, name);
  if (found != std::end(kNames)) {
    return static_cast<ScoreTransform>(found - std::begin(kNames));
  }
  node.FailInvalid("attribute post_transform is " + name +
                   ", expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT");
  return ScoreTransform::kNone;
}

int EmitTransformed(OnnxNode& node, int scores, ScoreTransform transform) {
  switch (transform) {
    case ScoreTransform::kNone:
      return scores;
    case ScoreTransform::kSoftmax: {
      Operator softmax{OpKind::kSoftmax, {}};
      softmax.attributes.axis = 1;
      return node.Emit(softmax, {scores});
    }
    case ScoreTransform::kLogistic:
      return node.Emit(OpKind::kSigmoid, {scores});
    case ScoreTransform::kSoftmaxZero:
      return ensembles::SoftmaxZero(node, scores);
    case ScoreTransform::kProbit:
      return ensembles::Probit(node, scores);
  }
  return scores;
}

}  // namespace tilewright
