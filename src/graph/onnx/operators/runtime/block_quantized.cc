// Operators of ONNX Runtime's domain on weights of few bits in blocks: MatMulNBits, and
// GatherBlockQuantized, which converts rows of such a table to floats.

#include <fmt/format.h>

#include <algorithm>

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/block_weights.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Checks an attribute that has to be positive and small enough for products of two of them.
std::int64_t SizeAttribute(OnnxNode& node, std::string_view name, std::int64_t fallback = 0) {
  constexpr std::int64_t kMax = std::int64_t{1} << 30;
  const std::int64_t size = node.Int(name, fallback);
  if (node.ok() && (size < 1 || size > kMax)) {
    node.FailInvalid(fmt::format("{} is {}, expected 1 to {}", name, size, kMax));
  }
  return size;
}

// Returns the contents of input `index`, which must be constant.
const Tensor* ConstantInput(OnnxNode& node, int index, std::string_view name) {
  const int id = node.Input(index);
  if (!node.ok()) return nullptr;
  if (!node.ReserveRepacked(id)) {
    node.FailInvalid(
        fmt::format("input {} ({}) is {}, too many bytes for a constant that the file "
                    "does not contain or that several nodes read",
                    index, name, node.TypeOf(id).ToString()));
    return nullptr;
  }
  const Tensor* contents = node.Contents(id);
  if (contents == nullptr) {
    node.FailUnsupported(
        fmt::format("input {} ({}) is computed at run time, expected a constant", index, name));
  }
  return contents;
}

void ExpectBlockShape(OnnxNode& node, int index, std::string_view name, const Shape& expected) {
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(node.Input(index));
  const bool flat = type.shape.size() == 1 && type.elements() == Product(expected);
  if (type.shape == expected || flat) return;
  node.FailInvalid(fmt::format("input {} ({}) is {}, expected {}", index, name, type.ToString(),
                               TensorType{expected, type.dtype}.ToString()));
}

// Reads zero points: integers that are packed like the weights, or one float for each block.
void ReadZeroPoints(OnnxNode& node, BlockWeight& weight) {
  constexpr int kIndex = 3;
  if (!node.HasInput(kIndex)) return;
  const Tensor* stored = ConstantInput(node, kIndex, "zero_points");
  if (!node.ok()) return;
  const std::int64_t blocks = weight.blocks();
  if (stored->dtype().is_float()) {
    ExpectBlockShape(node, kIndex, "zero_points", {weight.n, blocks});
    if (node.ok()) weight.float_zeros = ToFloats(*stored);
    return;
  }
  if (stored->dtype() != kUInt8) {
    return node.FailInvalid(fmt::format(
        "input 3 (zero_points) is {}, expected uint8 or the type of A", stored->type().ToString()));
  }
  const std::int64_t row = CeilDiv(blocks * weight.bits, 8);
  ExpectBlockShape(node, kIndex, "zero_points", {weight.n, row});
  if (node.ok()) weight.zeros = UnpackRows(*stored, weight.n, blocks, weight.bits);
}

void ImportMatMulNBits(OnnxNode& node) {
  BlockWeight weight;
  weight.n = SizeAttribute(node, "N"), weight.k = SizeAttribute(node, "K");
  weight.block = SizeAttribute(node, "block_size");
  weight.bits = static_cast<int>(node.Int("bits", 4));
  const std::int64_t level = node.Int("accuracy_level", 0);
  const std::int64_t prepacked = node.Int("weight_prepacked", 0);
  if (!node.ok()) return;
  if (level < 0 || level > 4) {
    return node.FailInvalid(fmt::format("accuracy_level is {}, expected 0 to 4", level));
  }
  if (prepacked != 0) {
    return node.FailUnsupported(
        "weight_prepacked is set: the weight is in a layout of one machine");
  }
  if (node.HasInput(4)) {
    return node.FailUnsupported(
        "input 4 (g_idx) orders the groups, which is not supported: quantize without reordering "
        "(act order)");
  }
  if (Status checked = CheckBlockWeight(weight); !checked.ok()) return node.Fail(checked);
  const std::int64_t bytes = weight.block * weight.bits / 8;
  const Tensor* stored = ConstantInput(node, 1, "B");
  if (!node.ok()) return;
  if (stored->dtype() != kUInt8) {
    return node.FailInvalid("input 1 (B) is " + stored->type().ToString() + ", expected uint8");
  }
  ExpectBlockShape(node, 1, "B", {weight.n, weight.blocks(), bytes});
  const Tensor* scales = ConstantInput(node, 2, "scales");
  ExpectBlockShape(node, 2, "scales", {weight.n, weight.blocks()});
  if (!node.ok()) return;
  if (!scales->dtype().is_float()) {
    return node.FailInvalid("input 2 (scales) is " + scales->type().ToString() +
                            ", expected floats");
  }
  weight.integers = UnpackRows(*stored, weight.n, weight.k, weight.bits);
  weight.scales = ToFloats(*scales);
  ReadZeroPoints(node, weight);
  int result = EmitBlockProduct(node, node.Input(0), weight, level == 4);
  if (node.HasInput(5)) {
    ExpectBlockShape(node, 5, "bias", {weight.n});
    result = node.Emit(OpKind::kAdd, {result, node.Input(5)});
  }
  node.SetOutput(result);
}

// Returns the text of integer `column` of row i of an input with packed rows, as a float.
std::string PackedText(const std::string& input, const std::string& column, int bits) {
  const std::string byte = fmt::format("{}[i, {} / {}]", input, column, 8 / bits);
  return "float32(" + PackedIntegerText(byte, fmt::format("{} % {}", column, 8 / bits), bits) + ")";
}

// Emits rows `indices` [count] of a table.
int RowsOfTable(OnnxNode& node, int table, int indices) {
  return node.Emit(Operator{OpKind::kGather, {}}, {table, indices});
}

// Inputs: data, indices, scales, zero_points. Bytes contain integers of `bits` bits; data of types
// of 4 bits are bytes here.
void ImportGatherBlockQuantized(OnnxNode& node) {
  node.ExpectRank(0, 2);
  const int table = node.Input(0);
  const bool stored = node.ok() && node.StorageTypeOfInput(0) != nullptr;
  const std::int64_t block = SizeAttribute(node, "block_size", 128);
  const auto bits = stored ? 8 : static_cast<int>(node.Int("bits", 4));
  if (stored) node.IgnoreAttributes({"bits"});
  if (!node.ok()) return;
  const std::int64_t gather_axis = node.Axis(node.Int("gather_axis", 0), 2);
  const std::int64_t quantize_axis = node.Axis(node.Int("quantize_axis", 1), 2);
  if (!node.ok()) return;
  if (gather_axis != 0 || quantize_axis != 1) {
    return node.FailUnsupported(fmt::format(
        "gather_axis {} and quantize_axis {}, expected rows (0) in blocks of columns (1)",
        gather_axis, quantize_axis));
  }
  if (bits != 2 && bits != 4 && bits != 8) {
    return node.FailUnsupported(fmt::format("bits is {}, expected 2, 4 or 8", bits));
  }
  const TensorType type = node.TypeOf(table);
  if (!type.dtype.is_integer() || (!stored && type.dtype != kUInt8)) {
    return node.FailInvalid("input 0 (data) is " + type.ToString() +
                            ", expected uint8, int4 or uint4");
  }
  const std::int64_t rows = type.shape[0], columns = type.shape[1] * (8 / bits);
  const std::int64_t blocks = CeilDiv(columns, block);
  ExpectBlockShape(node, 2, "scales", {rows, blocks});
  const bool zeros = node.HasInput(3);
  if (zeros) ExpectBlockShape(node, 3, "zero_points", {rows, CeilDiv(blocks * bits, 8)});
  const int indices = node.Input(1);
  if (!node.ok()) return;
  Shape result = node.TypeOf(indices).shape;
  const std::int64_t count = Product(result);
  result.push_back(columns);
  const int flat = node.EmitReshape(indices, {count});
  const DataType real = node.TypeOf(node.Input(2)).dtype;
  std::vector<int> inputs = {RowsOfTable(node, table, flat),
                             node.EmitCast(RowsOfTable(node, node.Input(2), flat), kFloat32)};
  if (zeros) inputs.push_back(RowsOfTable(node, node.Input(3), flat));
  if (!node.ok()) return;
  const std::string integers = DataTypeName(type.dtype);
  std::string text = fmt::format("input P: {}[{}, {}]\ninput S: float32[{}, {}]\n", integers, count,
                                 type.shape[1], count, blocks);
  std::string zero = fmt::format("{}.0", stored ? 0 : 1 << (bits - 1));
  if (zeros) {
    text += fmt::format("input Z: {}[{}, {}]\n", integers, count, CeilDiv(blocks * bits, 8));
    zero = PackedText("Z", fmt::format("(d / {})", block), bits);
  }
  text += fmt::format("Y[i: {}, d: {}] = ({} - {}) * S[i, d / {}]\n", count, columns,
                      PackedText("P", "d", bits), zero, block);
  auto expression = ParseExpression(text);
  if (!expression.ok()) return node.Fail(expression.status());
  Operator op{OpKind::kExpression, {}};
  op.attributes.expression = *std::move(expression);
  const int value = node.EmitReshape(node.Emit(op, std::move(inputs)), std::move(result));
  node.SetOutput(node.EmitCast(value, real));
}

constexpr OnnxHandlerEntry kBlockHandlers[] = {
    {"GatherBlockQuantized", &ImportGatherBlockQuantized},
    {"MatMulNBits", &ImportMatMulNBits},
};

}  // namespace

std::span<const OnnxHandlerEntry> RuntimeBlockHandlers() { return kBlockHandlers; }

}  // namespace tilewright
