// Operators of opsets 1 to 6, rewritten in opset 7: attributes that became inputs or defaults,
// broadcasting by axis, types by name.
#include "src/graph/onnx/opset_upgrade.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tilewright {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;
using Shape = std::vector<std::int64_t>;

// Node under conversion and the nodes inserted before it.
class UpgradedNode {
 public:
  UpgradedNode(const NodeProto& node, OnnxImport& import) : node_(node), import_(import) {}

  NodeProto& node() { return node_; }
  bool changed() const { return changed_; }
  const AttributeProto* Find(std::string_view name) const {
    const auto found = std::ranges::find_if(
        node_.attribute(),
        [&](const AttributeProto& attribute) { return attribute.name() == name; });
    return found == node_.attribute().end() ? nullptr : &*found;
  }
  std::int64_t Int(std::string_view name, std::int64_t fallback) const {
    const AttributeProto* attribute = Find(name);
    return attribute == nullptr ? fallback : attribute->i();
  }
  void Remove(std::string_view name) {
    auto& attributes = *node_.mutable_attribute();
    for (int i = attributes.size() - 1; i >= 0; --i) {
      if (attributes.Get(i).name() != name) continue;
      attributes.DeleteSubrange(i, 1);
      changed_ = true;
    }
  }
  AttributeProto& Add(const std::string& name, AttributeProto::AttributeType type) {
    changed_ = true;
    AttributeProto* attribute = node_.add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return *attribute;
  }
  void RenameAttribute(std::string_view from, const std::string& to) {
    for (AttributeProto& attribute : *node_.mutable_attribute()) {
      if (attribute.name() != from) continue;
      attribute.set_name(to);
      changed_ = true;
    }
  }
  // Returns the type of an input. If it has none, fails and returns a neutral type.
  TensorType InputType(int index) {
    if (index >= node_.input_size()) {
      Fail(InvalidArgument("input " + std::to_string(index) + " is missing"));
      return {};
    }
    auto type = import_.TypeOfValue(node_.input(index));
    if (type.ok()) return *type;
    Fail(type.status());
    return {};
  }
  // Adds a constant and returns its name.
  std::string Constant(const Shape& shape, const Shape& numbers) {
    TensorProto& tensor = import_.made.emplace_back();
    tensor.set_data_type(TensorProto::INT64);
    for (std::int64_t extent : shape) tensor.add_dims(extent);
    for (std::int64_t number : numbers) tensor.add_int64_data(number);
    return AddInitializer(tensor);
  }
  std::string Scalar(std::int32_t type, float value) {
    TensorProto& tensor = import_.made.emplace_back();
    tensor.set_data_type(type);
    if (type == TensorProto::DOUBLE) {
      tensor.add_double_data(static_cast<double>(value));
    } else {
      tensor.add_float_data(value);
    }
    return AddInitializer(tensor);
  }
  // Inserts a node and returns the name of its result, which is `output` if given.
  std::string AddNode(const std::string& op_type, const std::vector<std::string>& inputs,
                      const std::string& output = {}) {
    changed_ = true;
    NodeProto& node = front_.emplace_back();
    node.set_op_type(op_type);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output.empty() ? NewName() : output);
    return node.output(0);
  }
  // Replaces an input by its reshaped value.
  void ReshapeInput(int index, const Shape& shape) {
    const std::string target = Constant({std::ssize(shape)}, shape);
    *node_.mutable_input(index) = AddNode("Reshape", {node_.input(index), target});
  }
  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  const Status& status() const { return status_; }
  // Returns the inserted nodes, followed by the node itself unless `replaced`.
  std::vector<NodeProto> Take(bool replaced) {
    if (!replaced) front_.push_back(std::move(node_));
    return std::move(front_);
  }

 private:
  std::string NewName() {
    for (int i = 0;; ++i) {
      std::string name = node_.output(0) + "#old" + std::to_string(i);
      if (import_.used_names.insert(name).second) return name;
    }
  }
  std::string AddInitializer(TensorProto& tensor) {
    changed_ = true;
    tensor.set_name(NewName());
    import_.initializers.emplace(tensor.name(), &tensor);
    return tensor.name();
  }

  NodeProto node_;
  OnnxImport& import_;
  std::vector<NodeProto> front_;
  Status status_;
  bool changed_ = false;
};

// Aligns the second operand with dimensions axis … of the first one. Without an axis it is aligned
// with the last dimensions, as in opset 7.
void ConvertBroadcast(UpgradedNode& old) {
  const AttributeProto* given = old.Find("axis");
  const bool broadcast = old.Int("broadcast", 0) != 0;
  const TensorType a = old.InputType(0), b = old.InputType(1);
  if (!old.status().ok()) return;
  if (!broadcast && a.shape != b.shape) {
    return old.Fail(InvalidArgument("operands are " + a.ToString() + " and " + b.ToString() +
                                    ", expected one shape without attribute broadcast"));
  }
  if (broadcast && given != nullptr) {
    const std::int64_t rank = std::ssize(a.shape), inner = std::ssize(b.shape);
    const std::int64_t axis = given->i() < 0 ? given->i() + rank : given->i();
    if (axis < 0 || axis > rank - inner) {
      return old.Fail(InvalidArgument("attribute axis is " + std::to_string(given->i()) +
                                      ", operands are " + a.ToString() + " and " + b.ToString()));
    }
    Shape shape = b.shape;
    shape.resize(static_cast<std::size_t>(rank - axis), 1);
    if (shape != b.shape) old.ReshapeInput(1, shape);
  }
  old.Remove("axis");
  old.Remove("broadcast");
}

// Handles one slope for each channel, or a single slope.
void ConvertPRelu(UpgradedNode& old) {
  const TensorType data = old.InputType(0), slope = old.InputType(1);
  if (!old.status().ok() || slope.shape.size() != 1 || slope.shape[0] == 1) return;
  if (data.shape.size() <= 2 || data.shape[1] != slope.shape[0]) return;
  Shape shape(data.shape.size() - 1, 1);
  shape[0] = slope.shape[0];
  old.ReshapeInput(1, shape);
}

void RefuseTraining(UpgradedNode& old) {
  if (old.Int("is_test", 0) == 0) {
    return old.Fail(
        Unsupported("attribute is_test is 0 (training), which is its default in this operator set, "
                    "expected 1; export the model for inference"));
  }
  old.Remove("is_test");
}

// With attribute spatial 0 every element has its own scale.
bool ConvertBatchNormalization(UpgradedNode& old, std::int64_t opset) {
  if (opset < 7) RefuseTraining(old);
  if (opset < 7 && old.node().output_size() > 1) {
    old.Fail(Unsupported("has training outputs; export the model for inference"));
  }
  const bool spatial = old.Int("spatial", 1) != 0;
  old.Remove("spatial");
  if (spatial) return false;
  NodeProto& node = old.node();
  if (node.input_size() != 5) {
    old.Fail(InvalidArgument("has " + std::to_string(node.input_size()) + " inputs, expected 5"));
  }
  const TensorType data = old.InputType(0);
  if (!old.status().ok()) return false;
  if (data.dtype != kFloat32 && data.dtype != kFloat64) {
    old.Fail(Unsupported("input 0 is " + data.ToString() + ", expected float32 or float64"));
    return false;
  }
  const AttributeProto* given = old.Find("epsilon");
  const std::string epsilon =
      old.Scalar(OnnxTypeOf(data.dtype), given == nullptr ? 1e-5F : given->f());
  const std::string deviation = old.AddNode("Sqrt", {old.AddNode("Add", {node.input(4), epsilon})});
  const std::string centred = old.AddNode("Sub", {node.input(0), node.input(3)});
  const std::string value = old.AddNode("Div", {centred, deviation});
  old.AddNode("Add", {old.AddNode("Mul", {value, node.input(1)}), node.input(2)}, node.output(0));
  return true;
}

// Converts the name of the element type, for example "FLOAT".
void ConvertCast(UpgradedNode& old) {
  const AttributeProto* to = old.Find("to");
  if (to == nullptr || to->s().empty()) return;  // already a number, as some exporters write it
  std::string name = to->s();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  TensorProto::DataType type = TensorProto::UNDEFINED;
  if (!TensorProto::DataType_Parse(name, &type) || type == TensorProto::UNDEFINED) {
    return old.Fail(InvalidArgument("attribute to is '" + to->s().substr(0, 40) +
                                    "', expected the name of an element type such as FLOAT"));
  }
  old.Remove("to");
  old.Add("to", AttributeProto::INT).set_i(type);
}

void ConvertReshape(UpgradedNode& old) {
  const AttributeProto* shape = old.Find("shape");
  if (shape == nullptr || old.node().input_size() != 1) return;
  const Shape target(shape->ints().begin(), shape->ints().end());
  old.node().add_input(old.Constant({std::ssize(target)}, target));
  old.Remove("shape");
}

// Converts a tiling by a scalar count along a scalar dimension.
void ConvertTile(UpgradedNode& old, std::int64_t opset, OnnxImport& import) {
  if (opset >= 6 || old.node().input_size() != 3) return;
  const TensorType data = old.InputType(0);
  std::array<std::int64_t, 2> numbers = {};
  for (int i = 0; i < 2 && old.status().ok(); ++i) {
    NodeProto probe = old.node();
    OnnxNode reader(import, probe);
    const double number = reader.KnownScalar(i + 1);
    old.Fail(reader.status());
    if (!(number >= 0 && number <= static_cast<double>(kMaxDimension))) {
      old.Fail(InvalidArgument("input " + std::to_string(i + 1) + " is " + std::to_string(number) +
                               ", expected 0 to 2^31"));
      return;
    }
    numbers[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(number);
  }
  if (!old.status().ok()) return;
  const std::int64_t rank = std::ssize(data.shape);
  if (numbers[1] < 0 || numbers[1] >= rank) {
    return old.Fail(InvalidArgument("axis " + std::to_string(numbers[1]) + " is outside of " +
                                    data.ToString()));
  }
  Shape repeats(static_cast<std::size_t>(rank), 1);
  repeats[static_cast<std::size_t>(numbers[1])] = numbers[0];
  old.node().mutable_input()->DeleteSubrange(1, 2);
  old.node().add_input(old.Constant({rank}, repeats));
}

// Converts scales of height and width.
void ConvertUpsample(UpgradedNode& old) {
  const AttributeProto* height = old.Find("height_scale");
  const AttributeProto* width = old.Find("width_scale");
  if (height == nullptr || width == nullptr) return;
  const std::array<float, 4> scales = {1, 1, height->f(), width->f()};
  for (AttributeProto& attribute : *old.node().mutable_attribute()) {
    if (attribute.name() == "mode" && attribute.s() == "bilinear") attribute.set_s("linear");
  }
  old.Remove("height_scale");
  old.Remove("width_scale");
  AttributeProto& added = old.Add("scales", AttributeProto::FLOATS);
  for (const float scale : scales) added.add_floats(scale);
}

// In opset 1 the sizes of the parts may be an input.
void ConvertSplit(UpgradedNode& old, std::int64_t opset, OnnxImport& import) {
  if (opset != 1 || old.node().input_size() != 2) return;
  NodeProto probe = old.node();
  OnnxNode reader(import, probe);
  const Shape sizes = reader.KnownInts(1);
  old.Fail(reader.status());
  old.node().mutable_input()->DeleteSubrange(1, 1);
  old.Remove("split");
  AttributeProto& added = old.Add("split", AttributeProto::INTS);
  for (const std::int64_t size : sizes) added.add_ints(size);
}

void ConvertSelu(UpgradedNode& old, std::int64_t opset) {
  if (opset >= 6) return;
  if (old.Find("alpha") == nullptr) old.Add("alpha", AttributeProto::FLOAT).set_f(1.6732F);
  if (old.Find("gamma") == nullptr) old.Add("gamma", AttributeProto::FLOAT).set_f(1.0507F);
}

constexpr std::string_view kBroadcasting[] = {"Add", "And", "Div", "Equal", "Greater", "Less",
                                              "Mul", "Or",  "Pow", "Sub",   "Xor"};

// Returns true if other nodes replace the node.
bool Convert(UpgradedNode& old, std::int64_t opset, OnnxImport& import) {
  const std::string& op = old.node().op_type();
  if (op == "BatchNormalization") return ConvertBatchNormalization(old, opset);
  if (opset >= kOldestHandledOpset) return false;
  old.Remove("consumed_inputs");
  if (std::ranges::find(kBroadcasting, op) != std::end(kBroadcasting)) ConvertBroadcast(old);
  if (op == "Gemm") old.Remove("broadcast");  // opset 7 always broadcasts C
  if (op == "PRelu") ConvertPRelu(old);
  if (op == "Dropout") RefuseTraining(old);
  if (op == "Cast") ConvertCast(old);
  if (op == "Reshape") ConvertReshape(old);
  if (op == "Tile") ConvertTile(old, opset, import);
  if (op == "Upsample") ConvertUpsample(old);
  if (op == "Split") ConvertSplit(old, opset, import);
  if (op == "Selu") ConvertSelu(old, opset);
  if (op == "Pad") old.RenameAttribute("paddings", "pads");
  if (op == "Concat" && opset < 4 && old.Find("axis") == nullptr) {
    old.Add("axis", AttributeProto::INT).set_i(1);
  }
  return false;
}

}  // namespace

Result<std::optional<std::vector<NodeProto>>> UpgradeNode(const NodeProto& node,
                                                          OnnxImport& import) {
  constexpr std::int64_t kSpatialUntil = 9;  // first opset without the attribute
  const bool normalization = node.op_type() == "BatchNormalization" && import.opset < kSpatialUntil;
  const bool own = node.domain().empty() || node.domain() == "ai.onnx";
  if (!own || (import.opset >= kOldestHandledOpset && !normalization) ||
      node.op_type() == "Constant") {
    return std::optional<std::vector<NodeProto>>();
  }
  UpgradedNode old(node, import);
  const bool replaced = Convert(old, import.opset, import);
  TW_RETURN_IF_ERROR(old.status());
  if (!old.changed()) return std::optional<std::vector<NodeProto>>();
  return std::optional<std::vector<NodeProto>>(old.Take(replaced));
}

}  // namespace tilewright
