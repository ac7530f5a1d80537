// Products of ONNX Runtime's domain with integer operands and a float result: MatMulIntegerToFloat,
// and DynamicQuantizeMatMul, which quantizes its data itself.

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/quantized/integer.h"

namespace tilewright {
namespace {

// Checks that input `index` has one element or one for each column.
int PerColumn(OnnxNode& node, int index, std::int64_t columns) {
  const int id = node.Input(index);
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(id);
  if (type.elements() == 1) return node.EmitReshape(id, {});
  if (type.elements() == columns) return node.EmitReshape(id, {columns});
  node.FailInvalid("input " + std::to_string(index) + " is " + type.ToString() +
                   ", expected one number or " + std::to_string(columns));
  return -1;
}

}  // namespace

int EmitRealSums(OnnxNode& node, int sums, int data_scale, int weight_scale, int bias) {
  if (!node.ok()) return -1;
  const auto shape = node.TypeOf(sums).shape;
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  const int one = node.EmitReshape(data_scale, {});
  const int scale = node.Emit(OpKind::kMul, {one, PerColumn(node, weight_scale, columns)});
  int result = node.Emit(OpKind::kMul, {node.EmitCast(sums, kFloat32), scale});
  if (node.HasInput(bias)) {
    result = node.Emit(OpKind::kAdd, {result, PerColumn(node, bias, columns)});
  }
  return result;
}

namespace {

// Inputs: a, b, a_scale, b_scale, a_zero, b_zero, bias
void ImportMatMulIntegerToFloat(OnnxNode& node) {
  const int sums = IntegerMatmulOfInputs(node, 0, 4, 1, 5);
  node.SetOutput(EmitRealSums(node, sums, PerColumn(node, 2, 1), 3, 6));
}

// Emits the product of integers quantized at run time and input 1, whose zero points are input 3.
int DynamicSums(OnnxNode& node, const DynamicallyQuantized& data, int b) {
  if (!node.ok()) return -1;
  const TensorType type = node.TypeOf(b);
  const bool matrix = type.shape.size() == 2;
  const auto zero =
      matrix ? ZeroPointsOfColumns(node, 3, type.shape[1]) : ZeroPointOfInput(node, 3);
  if (zero && matrix) return EmitDynamicProduct(node, data, EmitByteWeight(node, b, *zero));
  if (zero && type.shape.size() > 2) {
    const int of_data = node.EmitCast(data.zero, kInt32);
    return ProductOfBytes(node, data.numbers, {std::nullopt, of_data}, b, *zero);
  }
  const int zeros = node.EmitCast(data.zero, kInt16);
  const int centred = node.Emit(OpKind::kSub, {node.EmitCast(data.numbers, kInt16), zeros});
  return EmitMatmul(node, centred, CentredByInput(node, b, 3, node.Rank(b) - 1), kInt32);
}

// Inputs: a (float), b, b_scale, b_zero, bias
void ImportDynamicQuantizeMatMul(OnnxNode& node) {
  const DynamicallyQuantized data = EmitDynamicallyQuantized(node, node.Input(0));
  const int b = node.Input(1);
  ExpectBytes(node, 1);
  CheckZeroPointType(node, 1, 3);
  node.SetOutput(EmitRealSums(node, DynamicSums(node, data, b), data.scale, 2, 4));
}

constexpr OnnxHandlerEntry kDynamicHandlers[] = {
    {"DynamicQuantizeMatMul", &ImportDynamicQuantizeMatMul},
    {"MatMulIntegerToFloat", &ImportMatMulIntegerToFloat},
};

}  // namespace

std::span<const OnnxHandlerEntry> RuntimeDynamicHandlers() { return kDynamicHandlers; }

}  // namespace tilewright
