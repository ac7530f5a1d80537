#include "src/graph/onnx/operators/block_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "src/base/math.h"

namespace tilewright {
namespace {

template <typename T>
Tensor MatrixOf(const std::vector<T>& values, std::int64_t rows, DataType dtype) {
  Tensor tensor(TensorType{{rows, std::ssize(values) / rows}, dtype});
  std::ranges::copy(values, tensor.As<T>().begin());
  return tensor;
}

}  // namespace

Status CheckBlockWeight(const BlockWeight& weight) {
  if (weight.bits != 2 && weight.bits != 4 && weight.bits != 8) {
    return Unsupported(fmt::format("bits is {}, expected 2, 4 or 8", weight.bits));
  }
  const bool power = std::has_single_bit(static_cast<std::uint64_t>(weight.block));
  if (weight.block < 16 || weight.block > 256 || !power) {
    return Unsupported(
        fmt::format("block_size is {}, expected a power of two from 16 to 256", weight.block));
  }
  if (weight.k % weight.block != 0) {
    return Unsupported(
        fmt::format("K is {}, expected a multiple of block_size {}", weight.k, weight.block));
  }
  return {};
}

std::vector<std::uint8_t> UnpackRows(const Tensor& packed, std::int64_t rows, std::int64_t count,
                                     int bits) {
  const auto bytes = packed.As<std::uint8_t>();
  const std::int64_t per_byte = 8 / bits, row_bytes = CeilDiv(count, per_byte);
  const int mask = (1 << bits) - 1;
  std::vector<std::uint8_t> integers(static_cast<std::size_t>(rows * count));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < count; ++i) {
      const int byte = bytes[static_cast<std::size_t>(r * row_bytes + i / per_byte)];
      integers[static_cast<std::size_t>(r * count + i)] =
          static_cast<std::uint8_t>(byte >> (i % per_byte * bits) & mask);
    }
  }
  return integers;
}

std::vector<float> ToFloats(const Tensor& values) {
  std::vector<float> floats(static_cast<std::size_t>(values.elements()));
  for (std::size_t i = 0; i < floats.size(); ++i) {
    floats[i] = static_cast<float>(values.At(static_cast<std::int64_t>(i)));
  }
  return floats;
}

std::optional<BlockWeight> FindBlockWeight(OnnxNode& node, int id, bool transposed) {
  if (!node.ok()) return std::nullopt;
  const Node& value = node.graph().node(id);
  if (value.kind == NodeKind::kOperator && value.op.kind == OpKind::kTranspose &&
      value.type.shape.size() == 2 && value.op.attributes.axes.front() == 1) {
    id = value.inputs[0];
    transposed = !transposed;
  }
  const DequantizedBlocks* blocks = node.FindBlocks(id);
  if (blocks == nullptr || blocks->axis != (transposed ? 1 : 0)) return std::nullopt;
  const std::vector<std::int64_t> shape = node.TypeOf(blocks->integers).shape;
  if (shape.size() != 2 || node.TypeOf(blocks->scales).dtype != kFloat32) return std::nullopt;
  BlockWeight weight;
  weight.n = shape[transposed ? 0 : 1], weight.k = shape[transposed ? 1 : 0];
  weight.block = blocks->block, weight.bits = blocks->bits;
  if (!CheckBlockWeight(weight).ok()) return std::nullopt;
  for (const int read : {blocks->integers, blocks->scales, blocks->zeros}) {
    if (read >= 0 && !node.ReserveRepacked(read)) return std::nullopt;
  }
  const Tensor* integers = node.Contents(blocks->integers);
  const Tensor* scales = node.Contents(blocks->scales);
  const Tensor* zeros = blocks->zeros < 0 ? nullptr : node.Contents(blocks->zeros);
  if (integers == nullptr || scales == nullptr || (blocks->zeros >= 0 && zeros == nullptr)) {
    return std::nullopt;
  }
  // Zero points can be outside of the integers of few bits: bytes contain both.
  bool fits = true;
  const auto raised = [&](double integer, int most) {
    const double above = integer - static_cast<double>(blocks->low);
    const bool inside = above >= 0 && above <= most;
    fits = fits && inside;
    return static_cast<std::uint8_t>(inside ? above : 0);
  };
  // Returns the element of row n, whose rows have `count` elements in a BlockWeight.
  const auto element = [&](const Tensor& tensor, std::int64_t n, std::int64_t i,
                           std::int64_t count) {
    return tensor.At(transposed ? n * count + i : i * weight.n + n);
  };
  const std::int64_t count = weight.blocks();
  weight.integers.reserve(static_cast<std::size_t>(weight.n * weight.k));
  for (std::int64_t n = 0; n < weight.n; ++n) {
    for (std::int64_t k = 0; k < weight.k; ++k) {
      weight.integers.push_back(raised(element(*integers, n, k, weight.k), (1 << weight.bits) - 1));
    }
    for (std::int64_t b = 0; b < count; ++b) {
      weight.scales.push_back(static_cast<float>(element(*scales, n, b, count)));
      weight.zeros.push_back(raised(zeros == nullptr ? 0 : element(*zeros, n, b, count), 255));
    }
  }
  if (!fits) return std::nullopt;
  const int middle = 1 << (weight.bits - 1);
  if (std::ranges::all_of(weight.zeros, [&](int zero) { return zero == middle; })) {
    weight.zeros.clear();
  }
  return weight;
}

int EmitBlockProduct(OnnxNode& node, int data, const BlockWeight& weight, bool integer_data) {
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(data);
  if (type.shape.empty() || type.shape.back() != weight.k || !type.dtype.is_float()) {
    node.FailInvalid(
        fmt::format("data is {}, expected floats with rows of {}", type.ToString(), weight.k));
    return -1;
  }
  BlockQuantizedMatmul matmul;
  matmul.m = type.elements() / weight.k;
  matmul.n = weight.n, matmul.k = weight.k;
  matmul.bits = weight.bits, matmul.block = weight.block;
  matmul.integer_data = integer_data;
  if (!weight.zeros.empty()) matmul.zero_points = BlockZeroPoints::kIntegers;
  if (!weight.float_zeros.empty()) matmul.zero_points = BlockZeroPoints::kFloats;
  auto expression = ExpressionOf(matmul);
  if (!expression.ok()) {
    node.Fail(expression.status());
    return -1;
  }
  const int rows = node.EmitReshape(node.EmitCast(data, kFloat32), {matmul.m, weight.k});
  std::vector<int> inputs = {rows, node.EmitRepacked(PackBlockQuantized(matmul, weight.integers))};
  const auto add = [&](const Tensor& values) {
    inputs.push_back(node.EmitRepacked(PackBlockValues(matmul, values)));
  };
  add(MatrixOf(weight.scales, weight.n, kFloat32));
  if (!weight.zeros.empty()) add(MatrixOf(weight.zeros, weight.n, kUInt8));
  if (!weight.float_zeros.empty()) add(MatrixOf(weight.float_zeros, weight.n, kFloat32));
  Operator op{OpKind::kExpression, {}};
  op.attributes.expression = *std::move(expression);
  std::vector<std::int64_t> shape(type.shape.begin(), type.shape.end() - 1);
  shape.push_back(weight.n);
  return node.EmitCast(node.EmitReshape(node.Emit(op, std::move(inputs)), std::move(shape)),
                       type.dtype);
}

}  // namespace tilewright
