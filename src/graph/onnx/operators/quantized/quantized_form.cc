#include "src/graph/onnx/operators/quantized/quantized_form.h"

#include <algorithm>

#include "src/graph/ir/moves.h"

namespace tilewright {
namespace {

constexpr int kMaxMoves = 32;  // moves behind a quantized value

}  // namespace

bool ChangesNothing(OpKind kind) {
  return OnlyMoves(kind) || kind == OpKind::kMaxPool2d || kind == OpKind::kGlobalMaxPool2d ||
         kind == OpKind::kReduceMax || kind == OpKind::kReduceMin;
}

const Node* OperatorAt(OnnxNode& node, int id) {
  const Node& value = node.graph().node(id);
  return value.kind == NodeKind::kOperator ? &value : nullptr;
}

std::string Quoted(OnnxNode& node, int id) {
  return "'" + std::string(SourceName(node.graph().node(id).name)) + "'";
}

std::optional<QuantizedForm> FormOf(OnnxNode& node, int id, int depth) {
  if (!node.ok() || depth > kMaxMoves) return std::nullopt;
  if (const QuantizedForm* known = node.Form(id)) return *known;
  const Node* value = OperatorAt(node, id);
  if (value == nullptr) return std::nullopt;
  const Operator op = value->op;
  const std::vector<int> inputs = value->inputs;  // emitting moves the nodes
  if (!ChangesNothing(op.kind) && op.kind != OpKind::kRelu) return std::nullopt;
  auto form = FormOf(node, inputs[0], depth + 1);
  if (!form) return std::nullopt;
  if (!IsPerTensor(*form)) {  // the scales must move along
    if (op.kind != OpKind::kTranspose) return std::nullopt;
    const auto& axes = op.attributes.axes;
    form->meaning.axis = std::ranges::find(axes, form->meaning.axis) - axes.begin();
  }
  if (op.kind == OpKind::kRelu) {
    const DataType dtype = node.TypeOf(form->id).dtype;
    const int zero = node.EmitScalar(dtype, static_cast<double>(form->meaning.zero_point));
    form->id = node.Emit(OpKind::kMax, {form->id, zero});
  } else {
    std::vector<int> moved = inputs;
    moved[0] = form->id;
    form->id = node.Emit(op, std::move(moved));
  }
  if (node.ok()) node.SetForm(id, *form);
  return form;
}

Tensor FactorsOf(OnnxNode& node, const QuantizedForm& form, double scale) {
  std::vector<std::int64_t> shape;
  if (!IsPerTensor(form)) {
    shape.assign(static_cast<std::size_t>(node.Rank(form.id) - form.meaning.axis), 1);
    shape[0] = std::ssize(form.meaning.scales);
  }
  Tensor factors(TensorType{shape, kFloat32});
  for (std::size_t i = 0; i < form.meaning.scales.size(); ++i) {
    factors.As<float>()[i] = form.meaning.scales[i] / static_cast<float>(scale);
  }
  return factors;
}

}  // namespace tilewright
