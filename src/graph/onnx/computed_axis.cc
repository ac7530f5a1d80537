#include "src/graph/onnx/computed_axis.h"

#include <algorithm>

#include "src/graph/onnx/declared_shapes.h"

namespace tilewright {
namespace {
namespace computed_axis {

using onnx::NodeProto;
using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kMaxAxes = 8;  // all of them are computed

bool IsReduction(const NodeProto& node) { return node.op_type().starts_with("Reduce"); }
bool IsRunning(const NodeProto& node) {
  return node.op_type() == "CumSum" || node.op_type() == "CumProd";
}

bool IsComputed(const std::string& name, OnnxImport& import) {
  const auto found = import.values.find(name);
  return found != import.values.end() && import.Contents(found->second) == nullptr;
}

// Returns the axes that the node may use.
std::vector<std::int64_t> Candidates(const NodeProto& node, const Shape& data,
                                     const OnnxImport& import) {
  std::vector<std::int64_t> axes;
  const auto declared = import.declared.find(node.output(0));
  bool keeps = true;
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "keepdims") keeps = attribute.i() != 0;
  }
  for (std::int64_t axis = 0; axis < std::ssize(data); ++axis) {
    Shape result = data;
    if (IsReduction(node)) {
      if (declared == import.declared.end()) return {};
      result[static_cast<std::size_t>(axis)] = 1;
      if (!keeps) result.erase(result.begin() + axis);
      if (result != declared->second) continue;
    }
    axes.push_back(axis);
  }
  return axes;
}

// Nodes that replace a node.
class AxisReplacement {
 public:
  AxisReplacement(const NodeProto& node, OnnxImport& import) : node_(node), import_(import) {}

  std::string Constant(const Shape& shape, std::int64_t number) {
    onnx::TensorProto& tensor = import_.made.emplace_back();
    tensor.set_data_type(onnx::TensorProto::INT64);
    for (std::int64_t extent : shape) tensor.add_dims(extent);
    tensor.add_int64_data(number);
    tensor.set_name(NewName());
    import_.initializers.emplace(tensor.name(), &tensor);
    return tensor.name();
  }
  NodeProto& Add(const std::string& op_type, const std::vector<std::string>& inputs) {
    NodeProto& made = nodes_.emplace_back();
    made.set_op_type(op_type);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(NewName());
    return made;
  }
  // Adds the node with a constant axis.
  std::string Along(std::int64_t axis) {
    NodeProto made = node_;
    made.set_input(1, Constant(IsReduction(node_) ? Shape{1} : Shape(), axis));
    made.set_output(0, NewName());
    nodes_.push_back(std::move(made));
    return nodes_.back().output(0);
  }
  std::vector<NodeProto> Take() {
    nodes_.back().set_output(0, node_.output(0));
    return std::move(nodes_);
  }

 private:
  std::string NewName() {
    for (int i = 0;; ++i) {
      std::string name = node_.output(0) + "#axis" + std::to_string(i);
      if (import_.used_names.insert(name).second) return name;
    }
  }

  const NodeProto& node_;
  OnnxImport& import_;
  std::vector<NodeProto> nodes_;
};

}  // namespace computed_axis
}  // namespace

std::optional<std::vector<onnx::NodeProto>> ExpandComputedAxis(const onnx::NodeProto& node,
                                                               OnnxImport& import) {
  using namespace computed_axis;  // NOLINT(google-build-using-namespace)
  const bool of_onnx = node.domain().empty() || node.domain() == "ai.onnx";
  if (!of_onnx || (!IsReduction(node) && !IsRunning(node)) || node.input_size() < 2) return {};
  if (node.output(0).empty() || !IsComputed(node.input(1), import)) return {};
  const auto data = import.TypeOfValue(node.input(0)), axis = import.TypeOfValue(node.input(1));
  if (!data.ok() || !axis.ok() || axis->elements() != 1 || !axis->dtype.is_integer()) return {};
  const std::int64_t rank = std::ssize(data->shape);
  if (rank > kMaxAxes || InputByDeclaredShape(import, node, 1)) return {};
  const std::vector<std::int64_t> axes = Candidates(node, data->shape, import);
  if (axes.empty()) return {};
  AxisReplacement made(node, import);
  std::string chosen = made.Along(axes[0]);
  if (axes.size() > 1) {
    NodeProto& cast = made.Add("Cast", {node.input(1)});
    auto* to = cast.add_attribute();
    to->set_name("to");
    to->set_type(onnx::AttributeProto::INT);
    to->set_i(onnx::TensorProto::INT64);
    const std::string whole = cast.output(0);
    const std::string ranks = made.Constant({}, rank);
    // A negative axis counts from the end.
    const std::string above = made.Add("Add", {whole, ranks}).output(0);
    const std::string wrapped = made.Add("Mod", {above, ranks}).output(0);
    const std::string place = made.Add("Reshape", {wrapped, made.Constant({1}, 1)}).output(0);
    for (std::size_t i = 1; i < axes.size(); ++i) {
      const std::string other = made.Along(axes[i]);
      const std::string number = made.Constant({1}, axes[i]);
      const std::string meant = made.Add("Equal", {place, number}).output(0);
      chosen = made.Add("Where", {meant, other, chosen}).output(0);
    }
  }
  return made.Take();
}

}  // namespace tilewright
