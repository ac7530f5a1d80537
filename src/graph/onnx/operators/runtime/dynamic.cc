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

// Multiplies int32 sums by the scales of the data and of the weight, and adds the bias, if present.
void ReturnReal(OnnxNode& node, int sums, int data_scale, int weight_scale, int bias) {
  if (!node.ok()) return;
  const auto shape = node.TypeOf(sums).shape;
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  const int scale = node.Emit(OpKind::kMul, {data_scale, PerColumn(node, weight_scale, columns)});
  int result = node.Emit(OpKind::kMul, {node.EmitCast(sums, kFloat32), scale});
  if (node.HasInput(bias)) {
    result = node.Emit(OpKind::kAdd, {result, PerColumn(node, bias, columns)});
  }
  node.SetOutput(result);
}

// Inputs: a, b, a_scale, b_scale, a_zero, b_zero, bias
void ImportMatMulIntegerToFloat(OnnxNode& node) {
  const int sums = IntegerMatmulOfInputs(node, 0, 4, 1, 5);
  ReturnReal(node, sums, PerColumn(node, 2, 1), 3, 6);
}

// Inputs: a (float), b, b_scale, b_zero, bias
void ImportDynamicQuantizeMatMul(OnnxNode& node) {
  const DynamicallyQuantized data = EmitDynamicallyQuantized(node, node.Input(0));
  const int b = node.Input(1);
  CheckZeroPointType(node, 1, 3);
  const int weight = CentredByInput(node, b, 3, node.Rank(b) - 1);
  ReturnReal(node, EmitDynamicProduct(node, data, weight, false), data.scale, 2, 4);
}

constexpr OnnxHandlerEntry kDynamicHandlers[] = {
    {"DynamicQuantizeMatMul", &ImportDynamicQuantizeMatMul},
    {"MatMulIntegerToFloat", &ImportMatMulIntegerToFloat},
};

}  // namespace

std::span<const OnnxHandlerEntry> RuntimeDynamicHandlers() { return kDynamicHandlers; }

}  // namespace tilewright
