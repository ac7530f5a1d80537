// Comparisons, logic, selection by a condition, argmin and argmax.

#include <limits>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

int Where(OnnxNode& node, int condition, int yes, int no) {
  return node.Emit(OpKind::kWhere, {condition, yes, no});
}
int Truth(OnnxNode& node, bool value) { return node.EmitScalar(kBool, value ? 1 : 0); }
int Not(OnnxNode& node, int id) { return Where(node, id, Truth(node, false), Truth(node, true)); }

void ImportEqual(OnnxNode& node) {
  node.Return(Operator{OpKind::kEqual, {}}, {node.Input(0), node.Input(1)});
}
void ImportLess(OnnxNode& node) {
  node.Return(Operator{OpKind::kLess, {}}, {node.Input(0), node.Input(1)});
}
void ImportGreater(OnnxNode& node) {
  node.Return(Operator{OpKind::kLess, {}}, {node.Input(1), node.Input(0)});
}

// Not the negation of the opposite comparison, because every comparison with a NaN is false.
void ReturnOrEqual(OnnxNode& node, int low, int high) {
  const int equal = node.Emit(OpKind::kEqual, {low, high});
  const int less = node.Emit(OpKind::kLess, {low, high});
  node.SetOutput(Where(node, less, Truth(node, true), equal));
}
void ImportLessOrEqual(OnnxNode& node) { ReturnOrEqual(node, node.Input(0), node.Input(1)); }
void ImportGreaterOrEqual(OnnxNode& node) { ReturnOrEqual(node, node.Input(1), node.Input(0)); }

void ImportWhere(OnnxNode& node) {
  node.SetOutput(Where(node, node.Input(0), node.Input(1), node.Input(2)));
}
void ImportAnd(OnnxNode& node) {
  node.SetOutput(Where(node, node.Input(0), node.Input(1), Truth(node, false)));
}
void ImportOr(OnnxNode& node) {
  node.SetOutput(Where(node, node.Input(0), Truth(node, true), node.Input(1)));
}
void ImportNot(OnnxNode& node) { node.SetOutput(Not(node, node.Input(0))); }
void ImportXor(OnnxNode& node) {
  const int equal = node.Emit(OpKind::kEqual, {node.Input(0), node.Input(1)});
  node.SetOutput(Not(node, equal));
}

void ImportIsNaN(OnnxNode& node) {
  const int data = node.Input(0);
  node.SetOutput(Not(node, node.Emit(OpKind::kEqual, {data, data})));
}

void ImportIsInf(OnnxNode& node) {
  int data = node.Input(0);
  const bool above = node.Int("detect_positive", 1) != 0,
             below = node.Int("detect_negative", 1) != 0;
  if (!above && !below) return node.FailUnsupported("expected one sign to detect");
  if (above && below) data = node.Emit(OpKind::kAbs, {data});
  const double infinite = std::numeric_limits<double>::infinity();
  node.SetOutput(node.Emit(OpKind::kEqual, data, above ? infinite : -infinite));
}

// Inputs: indices, depth, values (off, on): on at the position of the index along the new
// dimension.
void ImportOneHot(OnnxNode& node) {
  const int indices = node.Input(0), values = node.Input(2);
  const double depth = node.KnownScalar(1);
  const std::int64_t rank = node.Rank(indices);
  const std::int64_t axis = node.Axis(node.Int("axis", -1), rank + 1);
  if (!node.ok()) return;
  if (!(depth >= 1 && depth <= static_cast<double>(kMaxPicked)) ||
      node.TypeOf(values).shape != std::vector<std::int64_t>{2}) {
    return node.FailInvalid("expected a depth of 1 to " + std::to_string(kMaxPicked) +
                            " and two values");
  }
  const TensorType type = node.TypeOf(indices);
  std::vector<std::int64_t> shape = type.shape;
  shape.insert(shape.begin() + axis, 1);
  const int places = node.EmitReshape(indices, std::move(shape));
  // A negative index counts from the end.
  const int below = node.Emit(OpKind::kLess, places, 0);
  const int wrapped = Where(node, below, node.Emit(OpKind::kAdd, places, depth), places);
  const auto count = static_cast<std::int64_t>(depth);
  const int steps = EmitPositions(node, type.dtype, count, static_cast<std::size_t>(rank - axis));
  const int hit = node.Emit(OpKind::kEqual, {wrapped, steps});
  const int off = node.EmitReshape(EmitPick(node, values, 0, {0}), {});
  const int on = node.EmitReshape(EmitPick(node, values, 0, {1}), {});
  node.SetOutput(Where(node, hit, on, off));
}

void ImportSign(OnnxNode& node) {
  const int data = node.Input(0);
  const DataType dtype = node.TypeOf(data).dtype;
  const int zero = node.EmitScalar(dtype, 0);
  // A value that is neither positive nor negative is a zero or NaN and equals its own sign.
  int result = Where(node, node.Emit(OpKind::kLess, {zero, data}), node.EmitScalar(dtype, 1), data);
  if (node.ok() && dtype.code != TypeCode::kUInt) {
    const int below = node.Emit(OpKind::kLess, {data, zero});
    result = Where(node, below, node.EmitScalar(dtype, -1), result);
  }
  node.SetOutput(result);
}

void ImportExtreme(OnnxNode& node, OpKind extreme) {
  const int data = node.Input(0);
  const std::int64_t axis = node.Axis(node.Int("axis", 0), node.Rank(data));
  const bool last = node.Int("select_last_index", 0) != 0, keepdims = node.Int("keepdims", 1) != 0;
  node.SetOutput(node.EmitCast(EmitArgExtreme(node, data, extreme, axis, last, keepdims), kInt64));
}
void ImportArgMax(OnnxNode& node) { ImportExtreme(node, OpKind::kReduceMax); }
void ImportArgMin(OnnxNode& node) { ImportExtreme(node, OpKind::kReduceMin); }

constexpr OnnxHandlerEntry kComparisonHandlers[] = {
    {"And", &ImportAnd},         {"ArgMax", &ImportArgMax},
    {"ArgMin", &ImportArgMin},   {"Equal", &ImportEqual},
    {"Greater", &ImportGreater}, {"GreaterOrEqual", &ImportGreaterOrEqual},
    {"IsInf", &ImportIsInf},     {"IsNaN", &ImportIsNaN},
    {"Less", &ImportLess},       {"LessOrEqual", &ImportLessOrEqual},
    {"Not", &ImportNot},         {"OneHot", &ImportOneHot},
    {"Or", &ImportOr},           {"Sign", &ImportSign},
    {"Where", &ImportWhere},     {"Xor", &ImportXor},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxComparisonHandlers() { return kComparisonHandlers; }

int EmitArgExtreme(OnnxNode& node, int data, OpKind extreme, std::int64_t axis, bool last,
                   bool keepdims) {
  if (!node.ok()) return -1;
  Operator reduce{extreme, {}};
  reduce.attributes.axes = {axis};
  reduce.attributes.keepdims = true;
  const std::vector<std::int64_t> shape = node.TypeOf(data).shape;
  const auto dimension = static_cast<std::size_t>(axis);
  const std::int64_t count = shape[dimension];
  if (count > kMaxPicked) {
    node.FailUnsupported("dimension " + std::to_string(axis) + " has " + std::to_string(count) +
                         " elements, expected at most " + std::to_string(kMaxPicked));
    return -1;
  }
  const int positions = EmitPositions(node, kInt32, count, shape.size() - dimension - 1);
  int found = node.Emit(OpKind::kEqual, {data, node.Emit(reduce, {data})});
  if (node.ok() && node.TypeOf(data).dtype.is_float()) {  // NaN is the extreme, and equals nothing
    found = Where(node, node.Emit(OpKind::kEqual, {data, data}), found, Truth(node, true));
  }
  const int other = node.EmitScalar(kInt32, last ? 0 : static_cast<double>(count - 1));
  const int candidates = Where(node, found, positions, other);
  reduce.kind = last ? OpKind::kReduceMax : OpKind::kReduceMin;
  reduce.attributes.keepdims = keepdims;
  return node.Emit(reduce, {candidates});
}

}  // namespace tilewright
