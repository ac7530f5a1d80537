// Operators on the bits of integers, composed of shifts, products and tables, because the graph has
// no bitwise operators. Four bits of each operand form an index into a table of 256 elements.

#include <cmath>
#include <cstring>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

bool IsIntegers(OnnxNode& node, int id) {
  if (!node.ok()) return false;
  const TensorType type = node.TypeOf(id);
  if (type.dtype.is_integer()) return true;
  node.FailInvalid("input is " + type.ToString() + ", expected integers");
  return false;
}

// Emits a table of 2^n for n below the width of a type, and 0 for larger n.
int PowersOfTwo(OnnxNode& node, DataType dtype) {
  Tensor powers(TensorType{{dtype.bits + 1}, dtype});
  const bool has_sign = dtype.code != TypeCode::kUInt;
  for (int i = 0; i < dtype.bits; ++i) {
    powers.Set(i, has_sign && i == dtype.bits - 1 ? -std::exp2(i) : std::exp2(i));
  }
  return node.EmitConstant(std::move(powers));
}

// A left shift is a product with a power of two. Shifts by a negative number or by at least the
// width of the type give -1 for right shifts of negative numbers, else 0.
void ImportBitShift(OnnxNode& node) {
  const int data = node.Input(0), count = node.Input(1);
  const std::string direction = node.String("direction", "");
  if (!IsIntegers(node, data) || !IsIntegers(node, count)) return;
  const DataType dtype = node.TypeOf(data).dtype;
  if (dtype.code != TypeCode::kUInt && node.opset() < 28) {
    return node.FailInvalid("input 0 is " + node.TypeOf(data).ToString() +
                            ", expected unsigned integers");
  }
  if (direction != "LEFT" && direction != "RIGHT") {
    return node.FailInvalid("attribute direction is " + direction + ", expected LEFT or RIGHT");
  }
  const int all = node.EmitScalar(dtype, dtype.bits);
  int within = node.Emit(OpKind::kMin, {count, all});
  if (dtype.code != TypeCode::kUInt) {
    within = node.Emit(OpKind::kWhere, {node.Emit(OpKind::kLess, count, 0), all, within});
  }
  if (direction == "LEFT") {
    const int factor = node.Emit(Operator{OpKind::kGather, {}},
                                 {PowersOfTwo(node, dtype), node.EmitCast(within, kInt32)});
    return node.Return(Operator{OpKind::kMul, {}}, {data, factor});
  }
  const int fill = dtype.code == TypeCode::kUInt
                       ? node.EmitScalar(dtype, 0)
                       : node.Emit(OpKind::kShiftRight, data, dtype.bits - 1);
  const int sane = node.Emit(OpKind::kLess, {within, all});
  const int shifted = node.Emit(OpKind::kShiftRight, {data, within});
  node.Return(Operator{OpKind::kWhere, {}}, {sane, shifted, fill});
}

DataType Unsigned(DataType dtype) { return {TypeCode::kUInt, dtype.bits}; }

// Emits bits 4i … 4i + 3 of unsigned integers, as int32.
int Nibble(OnnxNode& node, int id, int i) {
  const DataType dtype = node.TypeOf(id).dtype;
  int rest = i == 0 ? id : node.Emit(OpKind::kShiftRight, id, 4 * i);
  if (4 * (i + 1) < dtype.bits) {
    const int above = node.Emit(OpKind::kShiftRight, id, 4 * (i + 1));
    rest = node.Emit(OpKind::kSub, {rest, node.Emit(OpKind::kMul, above, 16)});
  }
  return node.EmitCast(rest, kInt32);
}

void ImportBitwise(OnnxNode& node, int (*function)(int, int)) {
  const int left = node.Input(0), right = node.Input(1);
  if (!IsIntegers(node, left) || !IsIntegers(node, right)) return;
  const DataType dtype = node.TypeOf(left).dtype, bits = Unsigned(dtype);
  if (node.TypeOf(right).dtype != dtype) {
    return node.FailInvalid("inputs are " + node.TypeOf(left).ToString() + " and " +
                            node.TypeOf(right).ToString() + ", expected one element type");
  }
  Tensor contents(TensorType{{256}, bits});
  for (int i = 0; i < 256; ++i) contents.Set(i, function(i / 16, i % 16));
  const int table = node.EmitConstant(std::move(contents));
  const int a = node.EmitCast(left, bits), b = node.EmitCast(right, bits);
  int result = -1;
  for (int i = dtype.bits / 4; node.ok() && i-- > 0;) {  // most significant bits first
    const int index = node.Emit(
        OpKind::kAdd, {node.Emit(OpKind::kMul, Nibble(node, a, i), 16), Nibble(node, b, i)});
    const int part = node.Emit(Operator{OpKind::kGather, {}}, {table, index});
    result =
        result < 0 ? part : node.Emit(OpKind::kAdd, {node.Emit(OpKind::kMul, result, 16), part});
  }
  node.SetOutput(node.EmitCast(result, dtype));
}

void ImportBitwiseAnd(OnnxNode& node) {
  ImportBitwise(node, [](int a, int b) { return a & b; });
}
void ImportBitwiseOr(OnnxNode& node) {
  ImportBitwise(node, [](int a, int b) { return a | b; });
}
void ImportBitwiseXor(OnnxNode& node) {
  ImportBitwise(node, [](int a, int b) { return a ^ b; });
}

// -1 - x; wraps around in unsigned types as required.
void ImportBitwiseNot(OnnxNode& node) {
  const int data = node.Input(0);
  if (!IsIntegers(node, data)) return;
  const DataType dtype = node.TypeOf(data).dtype;
  const int negative = node.Emit(OpKind::kSub, {node.EmitScalar(dtype, 0), data});
  node.SetOutput(node.Emit(OpKind::kSub, negative, 1));
}

// Supports signed and unsigned integers of one width, by a cast that wraps around, and constants.
void ImportBitCast(OnnxNode& node) {
  const int data = node.Input(0);
  auto to = DataTypeOfOnnx(static_cast<std::int32_t>(node.Int("to", 0)));
  if (!to.ok()) return node.Fail(to.status());
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(data);
  if (type.dtype.bytes() != to->bytes()) {
    return node.FailInvalid("from " + type.ToString() + " to " + DataTypeName(*to) +
                            ", expected types of one width");
  }
  if (const Tensor* known = node.Known(0)) {
    Tensor contents(TensorType{type.shape, *to});
    std::memcpy(contents.data(), known->data(), static_cast<std::size_t>(known->bytes()));
    return node.SetOutput(node.EmitConstant(std::move(contents)));
  }
  const bool same = type.dtype == *to;
  if (type.dtype.is_bool() && *to == kUInt8) return node.SetOutput(node.EmitCast(data, *to));
  if (!same && !(type.dtype.is_integer() && to->is_integer())) {
    return node.FailUnsupported("from " + type.ToString() + " to " + DataTypeName(*to) +
                                ": bits of floats are supported only for small constants");
  }
  node.SetOutput(same ? node.Emit(OpKind::kIdentity, {data}) : node.EmitCast(data, *to));
}

constexpr OnnxHandlerEntry kBitHandlers[] = {
    {"BitCast", &ImportBitCast},       {"BitShift", &ImportBitShift},
    {"BitwiseAnd", &ImportBitwiseAnd}, {"BitwiseNot", &ImportBitwiseNot},
    {"BitwiseOr", &ImportBitwiseOr},   {"BitwiseXor", &ImportBitwiseXor},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxBitwiseHandlers() { return kBitHandlers; }

}  // namespace tilewright
