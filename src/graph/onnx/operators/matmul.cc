// Matrix products. The graph's operator multiplies [M,K] by a transposed weight [N,K]. A weight
// [K,N] gets a transpose, which FoldConstants folds if the weight is constant.

#include <algorithm>

#include "src/base/math.h"
#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/block_weights.h"
#include "src/graph/onnx/operators/quantized/qdq.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Emits `id` times `factor`, which is usually 1.
int Scaled(OnnxNode& node, int id, double factor) {
  return factor == 1 ? id : node.Emit(OpKind::kMul, id, factor);
}

// ONNX defines products of integers of 8 or 16 bits only by MatMulInteger, and none of bools. It
// does not specify whether other sums would have their own type or int32.
void ExpectProductType(OnnxNode& node) {
  for (int i = 0; i < 2; ++i) {
    const TensorType type = node.InputType(i);
    if (!node.ok() || type.dtype.is_float() || (type.dtype.is_integer() && type.dtype.bits >= 32)) {
      continue;
    }
    return node.FailInvalid("input " + std::to_string(i) + " is " + type.ToString() +
                            ", expected floats or integers of 32 or 64 bits; products of int8 and "
                            "uint8 are MatMulInteger or QLinearMatMul");
  }
}

void ImportGemm(OnnxNode& node) {
  ExpectProductType(node);
  if (!node.ok()) return;
  if (!ImportQuantizedGemm(node)) node.SetOutput(EmitGemm(node));
}

void ImportMatMul(OnnxNode& node) {
  ExpectProductType(node);
  if (!node.ok() || ImportQuantizedMatMul(node)) return;
  node.SetOutput(EmitMatmul(node, node.Input(0), node.Input(1)));
}

// Returns the leading dimensions (all except the last two) of both operands, broadcast to each
// other.
Shape BatchShape(OnnxNode& node, const Shape& a, const Shape& b) {
  Shape batch(std::max(a.size(), b.size()) - 2, 1);
  for (const Shape* shape : {&a, &b}) {
    for (std::size_t i = 0; i + 2 < shape->size(); ++i) {  // i counts from the last batch dimension
      const std::int64_t extent = (*shape)[shape->size() - 3 - i];
      std::int64_t& joined = batch[batch.size() - 1 - i];
      if (extent != joined && extent != 1 && joined != 1) {
        node.FailInvalid("dimensions " + std::to_string(joined) + " and " + std::to_string(extent) +
                         " do not broadcast");
      }
      if (joined == 1) joined = extent;
    }
  }
  return batch;
}

// Emits `id` with its batch dimensions broadcast to `batch` and merged into one: [B, x, y].
int JoinBatch(OnnxNode& node, int id, const Shape& batch) {
  if (!node.ok()) return -1;
  Shape shape = node.TypeOf(id).shape;
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  Shape full = batch;
  full.insert(full.end(), {rows, columns});
  if (Product(shape) != Product(full)) {
    Operator op{OpKind::kBroadcastTo, {}};
    op.attributes.new_shape = full;
    id = node.Emit(op, {id});
  }
  return node.EmitReshape(id, {Product(batch), rows, columns});
}

constexpr OnnxHandlerEntry kMatmulHandlers[] = {
    {"Gemm", &ImportGemm},
    {"MatMul", &ImportMatMul},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxMatmulHandlers() { return kMatmulHandlers; }

int EmitGemm(OnnxNode& node) {
  node.ExpectRank(0, 2);
  node.ExpectRank(1, 2);
  int data = node.Input(0);
  if (!node.ok()) return -1;
  if (node.Int("transA", 0) != 0) data = node.EmitTranspose(data, {1, 0});
  int result = EmitDense(node, data, node.Input(1), node.Int("transB", 0) != 0);
  result = Scaled(node, result, node.Float("alpha", 1));
  const double beta = node.Float("beta", 1);
  if (node.HasInput(2) && beta != 0) {
    result = node.Emit(OpKind::kAdd, {result, Scaled(node, node.Input(2), beta)});
  }
  return result;
}

int EmitDense(OnnxNode& node, int data, int weight, bool weight_transposed,
              std::optional<DataType> sums) {
  if (node.ok() && !sums && node.TypeOf(data).elements() > 0) {
    if (const auto blocks = FindBlockWeight(node, weight, weight_transposed)) {
      return EmitBlockProduct(node, data, *blocks, /*integer_data=*/false);
    }
  }
  if (!weight_transposed) weight = node.EmitTranspose(weight, {1, 0});
  Operator op{OpKind::kDense, {}};
  op.attributes.data_layout = "MK";
  op.attributes.kernel_layout = "NK";
  op.attributes.dtype = sums;
  return node.Emit(op, {data, weight});
}

int EmitMatmul(OnnxNode& node, int a, int b, std::optional<DataType> sums) {
  if (!node.ok()) return -1;
  Shape shape_a = node.TypeOf(a).shape, shape_b = node.TypeOf(b).shape;
  if (shape_a.empty() || shape_b.empty()) {
    node.FailInvalid("an operand is a scalar, expected at least one dimension");
    return -1;
  }
  const bool vector_a = shape_a.size() == 1, vector_b = shape_b.size() == 1;
  if (vector_a) a = node.EmitReshape(a, shape_a = {1, shape_a[0]});
  if (vector_b) b = node.EmitReshape(b, shape_b = {shape_b[0], 1});
  Shape result(shape_a.begin(), shape_a.end() - 1);
  int product = -1;
  if (shape_b.size() == 2) {
    const std::int64_t depth = shape_a.back();
    const int rows = node.EmitReshape(a, {Product(result), depth});
    product = EmitDense(node, rows, b, false, sums);
  } else {
    const Shape batch = BatchShape(node, shape_a, shape_b);
    const int left = JoinBatch(node, a, batch);
    const int right = node.EmitTranspose(JoinBatch(node, b, batch), {0, 2, 1});
    Operator op{OpKind::kBatchMatmul, {}};
    op.attributes.data_layout = "BMK";
    op.attributes.kernel_layout = "BNK";
    op.attributes.dtype = sums;
    product = node.Emit(op, {left, right});
    result = batch;
    result.push_back(shape_a[shape_a.size() - 2]);
  }
  result.push_back(shape_b.back());
  if (vector_b) result.pop_back();
  if (vector_a) result.erase(result.end() - (vector_b ? 1 : 2));
  return node.EmitReshape(product, result);
}

}  // namespace tilewright
