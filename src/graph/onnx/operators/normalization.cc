// Normalizations.

#include <algorithm>
#include <numeric>

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

void ImportLrn(OnnxNode& node) {
  Operator op{OpKind::kLrn, {}};
  op.attributes.size = node.Int("size", 0);
  op.attributes.alpha = node.Float("alpha", 1e-4F);
  op.attributes.beta = node.Float("beta", 0.75F);
  op.attributes.bias = node.Float("bias", 1.0F);
  node.Return(op, {node.Input(0)});
}

// ONNX computes float16 in float32; no other type is supported here.
void ReadStashType(OnnxNode& node) {
  const std::int64_t stash = node.Int("stash_type", 1);
  if (stash == 1) return;
  node.FailUnsupported("attribute stash_type is " + std::to_string(stash) +
                       ", expected 1 (float32)");
}

double Epsilon(OnnxNode& node) { return node.Float("epsilon", 1e-5F); }

int Widened(OnnxNode& node, int data) {
  return node.TypeOf(data).dtype == kFloat16 ? node.EmitCast(data, kFloat32) : data;
}

// sqrt(mean of the squares + epsilon)
int RootMeanSquare(OnnxNode& node, int data, const Operator& mean, double epsilon) {
  const int squares = node.Emit(mean, {node.Emit(OpKind::kMul, {data, data})});
  return node.Emit(OpKind::kSqrt, {node.Emit(OpKind::kAdd, squares, epsilon)});
}

Operator MeanOver(const Shape& axes) {
  Operator mean{OpKind::kReduceMean, {}};
  mean.attributes.axes = axes;
  mean.attributes.keepdims = true;
  return mean;
}

// Normalizes by the mean and the variance of the batch. Outputs 1 and 2 are the given mean and
// variance, updated with those of the batch.
void ReturnTrainingNormalization(OnnxNode& node) {
  const int data = node.Input(0);
  const double momentum = node.Float("momentum", 0.9F), epsilon = node.Float("epsilon", 1e-5F);
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(data);
  Shape axes, channels(std::max<std::size_t>(type.shape.size(), 2) - 1, 1);
  for (std::int64_t i = 0; i < std::ssize(type.shape); ++i) {
    if (i != 1) axes.push_back(i);
  }
  if (type.shape.size() < 2 || !type.dtype.is_float()) {
    return node.FailInvalid("input 0 is " + type.ToString() +
                            ", expected floats of at least 2 dimensions");
  }
  for (int i = 1; i < 5 && node.ok(); ++i) {
    const TensorType given = node.InputType(i);
    if (given.shape == Shape{type.shape[1]} && given.dtype.is_float()) continue;
    return node.FailInvalid("input " + std::to_string(i) + " is " + given.ToString() +
                            ", expected floats [" + std::to_string(type.shape[1]) + "]");
  }
  channels[0] = type.shape[1];
  const int wide = Widened(node, data);
  const DataType real = node.TypeOf(wide).dtype;
  const Operator mean = MeanOver(axes);
  const int first = node.Emit(mean, {wide});
  const int near = node.Emit(OpKind::kSub, {wide, first});
  const int rest = node.Emit(mean, {near});  // rounding error of the mean
  const int centred = node.Emit(OpKind::kSub, {near, rest});
  const int variance = node.Emit(mean, {node.Emit(OpKind::kMul, {centred, centred})});
  const int deviation = node.Emit(OpKind::kSqrt, {node.Emit(OpKind::kAdd, variance, epsilon)});
  const auto per_channel = [&](int index) {
    return node.EmitReshape(node.EmitCast(node.Input(index), real), channels);
  };
  const int scaled =
      node.Emit(OpKind::kMul, {node.Emit(OpKind::kDiv, {centred, deviation}), per_channel(1)});
  const int result = node.Emit(OpKind::kAdd, {scaled, per_channel(2)});
  const auto running = [&](int statistic, int index) {
    const int given = node.Input(index);
    const int flat = node.EmitReshape(statistic, {type.shape[1]});
    const int before = node.Emit(OpKind::kMul, node.EmitCast(given, real), momentum);
    const int now = node.Emit(OpKind::kMul, flat, 1 - momentum);
    return node.EmitCast(node.Emit(OpKind::kAdd, {before, now}), node.TypeOf(given).dtype);
  };
  node.SetOutput(node.EmitCast(result, type.dtype));
  const int average = node.Emit(OpKind::kAdd, {first, rest});
  if (node.HasOutput(1)) node.SetOutput(running(average, 3), 1);
  if (node.HasOutput(2)) node.SetOutput(running(variance, 4), 2);
}

void ImportBatchNormalization(OnnxNode& node) {
  node.IgnoreAttributes({"momentum"});  // training attribute
  if (node.Int("spatial", 1) != 1) {
    return node.FailUnsupported("expected a normalization over channels (spatial 1)");
  }
  if (node.Int("training_mode", 0) != 0) return ReturnTrainingNormalization(node);
  Operator op{OpKind::kBatchNorm, {}};
  op.attributes.axis = 1;
  op.attributes.epsilon = node.Float("epsilon", 1e-5F);  // a float in ONNX
  node.Return(op, {node.Input(0), node.Input(1), node.Input(2), node.Input(3), node.Input(4)});
}

// 1 / deviation
int Inverse(OnnxNode& node, int deviation) {
  return node.Emit(OpKind::kDiv, {node.EmitScalar(node.TypeOf(deviation).dtype, 1), deviation});
}

// Returns dimensions first … rank - 1.
Shape AxesFrom(std::int64_t first, std::int64_t rank) {
  Shape axes(static_cast<std::size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// Emits value * input 1 + input 2 (if present), both transformed by `shaped`.
template <typename Shaped>
int ScaledAndShifted(OnnxNode& node, int value, const Shaped& shaped) {
  value = node.Emit(OpKind::kMul, {value, shaped(node.Input(1))});
  return node.HasInput(2) ? node.Emit(OpKind::kAdd, {value, shaped(node.Input(2))}) : value;
}

// Reshapes a vector to the factors of dimension 1 of a tensor of `rank`.
int PerChannel(OnnxNode& node, int vector, std::int64_t rank) {
  if (!node.ok()) return -1;
  Shape shape(static_cast<std::size_t>(rank - 1), 1);
  shape[0] = node.TypeOf(vector).elements();
  return node.EmitReshape(vector, std::move(shape));
}

// Returns whether scale and bias have the shape of the dimensions from `axis` on, so that these can
// be merged.
bool IsOfLastDimensions(OnnxNode& node, std::int64_t axis) {
  const Shape shape = node.TypeOf(node.Input(0)).shape;
  const Shape last(shape.begin() + axis, shape.end());
  return node.InputType(1).shape == last && (!node.HasInput(2) || node.InputType(2).shape == last);
}

void ImportLayerNormalization(OnnxNode& node) {
  const int data = node.Input(0);
  const std::int64_t rank = node.Rank(data);
  const std::int64_t axis = node.Axis(node.Int("axis", -1), rank);
  if (!node.ok()) return;
  ReadStashType(node);
  const bool alone = !node.HasOutput(1) && !node.HasOutput(2);
  if (alone && axis + 1 < rank && IsOfLastDimensions(node, axis) && node.ok()) {
    const Shape shape = node.TypeOf(data).shape;
    Shape rows(shape.begin(), shape.begin() + axis);
    rows.push_back(Product(Shape(shape.begin() + axis, shape.end())));
    const int value =
        EmitNormalized(node, node.EmitReshape(data, rows), {axis}, Epsilon(node)).value;
    const auto row = [&](int id) { return node.EmitReshape(id, {rows.back()}); };
    return node.SetOutput(node.EmitReshape(ScaledAndShifted(node, value, row), shape));
  }
  const auto normalized = EmitNormalized(node, data, AxesFrom(axis, rank), Epsilon(node));
  node.SetOutput(ScaledAndShifted(node, normalized.value, [](int id) { return id; }));
  node.SetOutput(normalized.mean, 1);
  node.SetOutput(normalized.inverse_deviation, 2);
}

// Makes the reciprocal of the root output `place`, if the operator has it.
void ReturnRmsNormalization(OnnxNode& node, int place) {
  const int data = node.Input(0);
  const std::int64_t rank = node.Rank(data), axis = node.Axis(node.Int("axis", -1), rank);
  if (!node.ok()) return;
  ReadStashType(node);
  const auto normalized = EmitRmsNormalized(node, data, AxesFrom(axis, rank), Epsilon(node));
  node.SetOutput(node.Emit(OpKind::kMul, {normalized.value, node.Input(1)}));
  if (place > 0 && node.HasOutput(place)) node.SetOutput(normalized.inverse_deviation, place);
}

void ImportRmsNormalization(OnnxNode& node) { ReturnRmsNormalization(node, 0); }
// ONNX Runtime's optimizer writes this variant into ONNX's own domain.
void ImportSimplifiedLayerNormalization(OnnxNode& node) { ReturnRmsNormalization(node, 1); }

// Divides by the sum of magnitudes (p 1) or the Euclidean length (p 2) along a dimension. Vectors
// of length zero stay zero.
void ImportLpNormalization(OnnxNode& node) {
  const int data = node.Input(0);
  const std::int64_t p = node.Int("p", 2);
  Operator sum{OpKind::kReduceSum, {}};
  sum.attributes.axes = {node.Axis(node.Int("axis", -1), node.Rank(data))};
  sum.attributes.keepdims = true;
  if (p != 1 && p != 2) {
    return node.FailInvalid("attribute p is " + std::to_string(p) + ", expected 1 or 2");
  }
  const int powers =
      p == 1 ? node.Emit(OpKind::kAbs, {data}) : node.Emit(OpKind::kMul, {data, data});
  int length = node.Emit(sum, {powers});
  if (p == 2) length = node.Emit(OpKind::kSqrt, {length});
  if (!node.ok()) return;
  const int one = node.EmitScalar(node.TypeOf(data).dtype, 1);
  const int none = node.Emit(OpKind::kEqual, length, 0);
  const int divisor = node.Emit(OpKind::kWhere, {none, one, length});
  node.Return(Operator{OpKind::kDiv, {}}, {data, divisor});
}

// Fails if the data have no dimensions after the channels.
bool HasChannels(OnnxNode& node) {
  const int data = node.Input(0);
  if (node.ok() && node.Rank(data) < 3) {
    node.FailUnsupported("input 0 is " + node.TypeOf(data).ToString() +
                         ", expected at least 3 dimensions");
  }
  return node.ok();
}

// Computes images as rows, so that one kernel suffices.
void ImportInstanceNormalization(OnnxNode& node) {
  if (!HasChannels(node)) return;
  const int data = node.Input(0);
  const Shape shape = node.TypeOf(data).shape;
  const Shape rows = {shape[0], shape[1], Product(shape) / shape[0] / shape[1]};
  const int value = EmitNormalized(node, node.EmitReshape(data, rows), {2}, Epsilon(node)).value;
  const auto of_channel = [&](int id) { return PerChannel(node, id, 3); };
  node.SetOutput(node.EmitReshape(ScaledAndShifted(node, value, of_channel), shape));
}

// Scales and biases are per group until opset 20, per channel since opset 21.
void ImportGroupNormalization(OnnxNode& node) {
  if (!HasChannels(node)) return;
  const int data = node.Input(0);
  const Shape shape = node.TypeOf(data).shape;
  const std::int64_t groups = node.Int("num_groups", 0);
  if (groups < 1 || shape[1] % groups != 0) {
    return node.FailInvalid("attribute num_groups is " + std::to_string(groups) +
                            ", expected a divisor of " + std::to_string(shape[1]) + " channels");
  }
  ReadStashType(node);
  const bool per_group = node.opset() < 21;
  const std::int64_t channels = per_group ? 1 : shape[1] / groups;
  const Shape grouped = {shape[0], groups, channels, Product(shape) / shape[0] / groups / channels};
  const auto factors = [&](int id) { return node.EmitReshape(id, {groups, channels, 1}); };
  const int value =
      EmitNormalized(node, node.EmitReshape(data, grouped), {2, 3}, Epsilon(node)).value;
  node.SetOutput(node.EmitReshape(ScaledAndShifted(node, value, factors), shape));
}

// Removes the dimensions in `axes` of one element, as long as others remain in `axes`. In batches
// of one, the remaining dimensions are the last ones.
int DropUnitDimensions(OnnxNode& node, int data, Shape& axes) {
  const Shape shape = node.TypeOf(data).shape;
  Shape kept, own;
  for (std::int64_t i = 0; i < std::ssize(shape); ++i) {
    const bool reduced = std::ranges::binary_search(axes, i);
    const std::int64_t size = shape[static_cast<std::size_t>(i)];
    if (reduced && size == 1) continue;
    if (reduced) own.push_back(std::ssize(kept));
    kept.push_back(size);
  }
  if (own.empty()) return data;
  axes = std::move(own);
  return node.EmitReshape(data, std::move(kept));
}

// (x - mean) / (deviation + 1e-9), by default over the batch and the spatial dimensions.
void ImportMeanVarianceNormalization(OnnxNode& node) {
  int data = node.Input(0);
  const std::int64_t rank = node.Rank(data);
  Operator mean{OpKind::kReduceMean, {}};
  mean.attributes.keepdims = true;
  for (std::int64_t axis : node.Ints("axes", {0, 2, 3})) {
    mean.attributes.axes.push_back(node.Axis(axis, rank));
  }
  std::ranges::sort(mean.attributes.axes);
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(data).shape;
  data = DropUnitDimensions(node, data, mean.attributes.axes);
  const int centred = node.Emit(OpKind::kSub, {data, node.Emit(mean, {data})});
  const int squares = node.Emit(mean, {node.Emit(OpKind::kMul, {centred, centred})});
  const int deviation = node.Emit(OpKind::kAdd, node.Emit(OpKind::kSqrt, {squares}), 1e-9);
  node.SetOutput(node.EmitReshape(node.Emit(OpKind::kDiv, {centred, deviation}), shape));
}

constexpr OnnxHandlerEntry kNormalizationHandlers[] = {
    {"BatchNormalization", &ImportBatchNormalization},
    {"GroupNormalization", &ImportGroupNormalization},
    {"InstanceNormalization", &ImportInstanceNormalization},
    {"LRN", &ImportLrn},
    {"LayerNormalization", &ImportLayerNormalization},
    {"LpNormalization", &ImportLpNormalization},
    {"MeanVarianceNormalization", &ImportMeanVarianceNormalization},
    {"RMSNormalization", &ImportRmsNormalization},
    {"SimplifiedLayerNormalization", &ImportSimplifiedLayerNormalization},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxNormalizationHandlers() { return kNormalizationHandlers; }

// The mean of the centred data is the rounding error of the mean. For data far from zero it affects
// the deviation.
NormalizedValue EmitNormalized(OnnxNode& node, int data, const Shape& axes, double epsilon) {
  const Operator mean = MeanOver(axes);
  NormalizedValue result;
  const int wide = Widened(node, data);
  const int first = node.Emit(mean, {wide});
  const int near = node.Emit(OpKind::kSub, {wide, first});
  const int rest = node.Emit(mean, {near});
  const int centred = node.Emit(OpKind::kSub, {near, rest});
  result.mean = node.Emit(OpKind::kAdd, {first, rest});
  const int deviation = RootMeanSquare(node, centred, mean, epsilon);
  const int value = node.Emit(OpKind::kDiv, {centred, deviation});
  result.value = node.EmitCast(value, node.TypeOf(data).dtype);
  if (node.HasOutput(2)) result.inverse_deviation = Inverse(node, deviation);
  return result;
}

NormalizedValue EmitRmsNormalized(OnnxNode& node, int data, const Shape& axes, double epsilon) {
  NormalizedValue result;
  const int wide = Widened(node, data);
  const int root = RootMeanSquare(node, wide, MeanOver(axes), epsilon);
  const int value = node.Emit(OpKind::kDiv, {wide, root});
  result.value = node.EmitCast(value, node.TypeOf(data).dtype);
  if (node.output_count() > 1) result.inverse_deviation = Inverse(node, root);
  return result;
}

}  // namespace tilewright
