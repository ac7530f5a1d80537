#include "src/graph/onnx/operators/quantized/quantized_value.h"

#include <algorithm>

#include "src/graph/ir/data_movement.h"

namespace tilewright {
namespace {

constexpr int kMaxMoves = 32;  // data movement operators after a quantized value

}  // namespace

bool PreservesValues(OpKind kind) {
  return IsDataMovement(kind) || kind == OpKind::kMaxPool2d || kind == OpKind::kGlobalMaxPool2d ||
         kind == OpKind::kReduceMax || kind == OpKind::kReduceMin;
}

const Node* OperatorAt(OnnxNode& node, int id) {
  const Node& value = node.graph().node(id);
  return value.kind == NodeKind::kOperator ? &value : nullptr;
}

std::string Quoted(OnnxNode& node, int id) {
  return "'" + std::string(SourceName(node.graph().node(id).name)) + "'";
}

std::optional<QuantizedValue> QuantizedValueOf(OnnxNode& node, int id, int depth) {
  if (!node.ok() || depth > kMaxMoves) return std::nullopt;
  if (const QuantizedValue* known = node.FindQuantized(id)) return *known;
  const Node* value = OperatorAt(node, id);
  if (value == nullptr) return std::nullopt;
  const Operator op = value->op;
  const std::vector<int> inputs = value->inputs;  // emitting a node relocates the nodes
  if (!PreservesValues(op.kind) && op.kind != OpKind::kRelu) return std::nullopt;
  auto quantized = QuantizedValueOf(node, inputs[0], depth + 1);
  if (!quantized) return std::nullopt;
  if (!IsPerTensor(*quantized)) {  // the scales would have to move along
    if (op.kind != OpKind::kTranspose) return std::nullopt;
    const auto& axes = op.attributes.axes;
    quantized->quantization_params.axis =
        std::ranges::find(axes, quantized->quantization_params.axis) - axes.begin();
  }
  if (op.kind == OpKind::kRelu) {
    const DataType dtype = node.TypeOf(quantized->id).dtype;
    const int zero =
        node.EmitScalar(dtype, static_cast<double>(quantized->quantization_params.zero_point));
    quantized->id = node.Emit(OpKind::kMax, {quantized->id, zero});
  } else {
    std::vector<int> moved = inputs;
    moved[0] = quantized->id;
    quantized->id = node.Emit(op, std::move(moved));
  }
  if (node.ok()) node.SetQuantized(id, *quantized);
  return quantized;
}

Tensor FactorsOf(OnnxNode& node, const QuantizedValue& quantized, double scale) {
  std::vector<std::int64_t> shape;
  if (!IsPerTensor(quantized)) {
    shape.assign(
        static_cast<std::size_t>(node.Rank(quantized.id) - quantized.quantization_params.axis), 1);
    shape[0] = std::ssize(quantized.quantization_params.scales);
  }
  Tensor factors(TensorType{shape, kFloat32});
  for (std::size_t i = 0; i < quantized.quantization_params.scales.size(); ++i) {
    factors.As<float>()[i] = quantized.quantization_params.scales[i] / static_cast<float>(scale);
  }
  return factors;
}

}  // namespace tilewright
