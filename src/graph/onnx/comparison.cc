// Comparisons, logic, choices by a condition, and where an extreme is.

#include <numeric>

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

// Not the contrary of the other comparison: every comparison with a NaN is false.
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

void ImportSign(OnnxNode& node) {
  const int data = node.Input(0);
  const DataType dtype = node.TypeOf(data).dtype;
  const int zero = node.EmitScalar(dtype, 0);
  int result = Where(node, node.Emit(OpKind::kLess, {zero, data}), node.EmitScalar(dtype, 1), zero);
  if (node.ok() && dtype.code != TypeCode::kUInt) {
    const int below = node.Emit(OpKind::kLess, {data, zero});
    result = Where(node, below, node.EmitScalar(dtype, -1), result);
  }
  node.SetOutput(result);
}

// Of the positions whose element is the extreme, the first or the last.
void ImportExtreme(OnnxNode& node, OpKind extreme) {
  const int data = node.Input(0);
  Operator reduce{extreme, {}};
  reduce.attributes.axes = {node.Axis(node.Int("axis", 0), node.Rank(data))};
  reduce.attributes.keepdims = true;
  const bool last = node.Int("select_last_index", 0) != 0;
  if (!node.ok()) return;
  const auto axis = static_cast<std::size_t>(reduce.attributes.axes[0]);
  std::vector<std::int64_t> shape = node.TypeOf(data).shape;
  const std::int64_t count = shape[axis];
  if (count > kMaxPicked) {
    return node.FailUnsupported("dimension " + std::to_string(axis) + " has " +
                                std::to_string(count) + " elements, expected at most " +
                                std::to_string(kMaxPicked));
  }
  Tensor positions(TensorType{{count}, kInt32});
  std::iota(positions.As<std::int32_t>().begin(), positions.As<std::int32_t>().end(), 0);
  std::vector<std::int64_t> along(shape.size() - axis, 1);
  along[0] = count;
  positions.Reshape(along);
  const int found = node.Emit(OpKind::kEqual, {data, node.Emit(reduce, {data})});
  const int other = node.EmitScalar(kInt32, last ? 0 : static_cast<double>(count - 1));
  const int candidates = Where(node, found, node.EmitConstant(std::move(positions)), other);
  reduce.kind = last ? OpKind::kReduceMax : OpKind::kReduceMin;
  reduce.attributes.keepdims = node.Int("keepdims", 1) != 0;
  node.SetOutput(node.EmitCast(node.Emit(reduce, {candidates}), kInt64));
}
void ImportArgMax(OnnxNode& node) { ImportExtreme(node, OpKind::kReduceMax); }
void ImportArgMin(OnnxNode& node) { ImportExtreme(node, OpKind::kReduceMin); }

constexpr OnnxHandlerEntry kHandlers[] = {
    {"And", &ImportAnd},         {"ArgMax", &ImportArgMax},
    {"ArgMin", &ImportArgMin},   {"Equal", &ImportEqual},
    {"Greater", &ImportGreater}, {"GreaterOrEqual", &ImportGreaterOrEqual},
    {"Less", &ImportLess},       {"LessOrEqual", &ImportLessOrEqual},
    {"Not", &ImportNot},         {"Or", &ImportOr},
    {"Sign", &ImportSign},       {"Where", &ImportWhere},
    {"Xor", &ImportXor},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxComparisonHandlers() { return kHandlers; }

}  // namespace tilewright
