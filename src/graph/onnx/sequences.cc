// Sequences and optional values are resolved at import. A sequence is a list of the names of its
// tensors. An optional value is an alias of its tensor or sequence, or a name in the list of empty
// optionals. Operators that only create or rearrange them emit no nodes.

#include "src/graph/onnx/sequences.h"

#include <algorithm>

#include "src/graph/onnx/inline_and_unroll.h"
#include "src/graph/onnx/node_kinds.h"

namespace tilewright {
namespace {
namespace sequences {

using onnx::AttributeProto;
using onnx::NodeProto;
using Nodes = std::vector<NodeProto>;
using Names = std::vector<std::string>;
using Shape = std::vector<std::int64_t>;

// Limit of a sequence; each element is a value of the network.
constexpr std::int64_t kMaxElements = 16'384;

// Nodes that replace a node, with the changes to the import.
class Replacing {
 public:
  Replacing(const NodeProto& proto, std::int64_t most_nodes, OnnxImport& import)
      : proto_(proto), most_nodes_(most_nodes), import_(import), node_(import, proto) {}

  Status Run();
  Nodes Take() { return std::move(nodes_); }
  static bool Has(std::string_view op_type);

 private:
  using Maker = void (Replacing::*)();
  struct Entry {
    std::string_view op_type;
    Maker maker;
  };
  static const Entry kEntries[];

  void Construct();
  void Empty();
  void Insert();
  void Erase();
  void At();
  void Length();
  void SplitApart();
  void Join();
  void Map();
  void MakeOptional();
  void HasElement();
  void GetElement();

  /// Returns input `index` as a sequence. Errors: it is not a sequence; it is computed at run time.
  Names Sequence(int index);
  /// Returns the name of input `index`, which must be a tensor.
  std::string TensorName(int index);
  TensorType TypeOfTensor(const std::string& name);
  /// Returns the position in input `index`, from 0 to `count` - 1, or `fallback` if the input is
  /// absent. Returns nothing (and no error) if it is computed at run time.
  std::optional<std::int64_t> Position(int index, std::int64_t count, std::int64_t fallback);
  bool IsSequence(int index) const { return import_.sequences.contains(proto_.input(index)); }

  const std::string& Output() const { return proto_.output(0); }
  /// Checks that `elements` more sequence elements and `nodes` more nodes stay within the limits.
  /// Must be called before they are created, because the import keeps what is created.
  bool Fits(std::int64_t elements, std::int64_t nodes);
  void SetSequence(Names elements);
  /// Makes the value (a tensor, a sequence or an empty optional) available under the name of output
  /// 0.
  void HandOn(const std::string& name);
  void SetBool(bool value);
  std::string NewName();
  /// Adds an initializer of integers, a scalar if `scalar`.
  std::string Integers(const Shape& values, bool scalar, const std::string& name);
  NodeProto& Add(const std::string& op_type, const Names& inputs, const std::string& output);
  static void SetInt(NodeProto& made, const std::string& name, std::int64_t value);
  std::string Reshaped(const std::string& tensor, const Shape& shape);

  const NodeProto& proto_;
  std::int64_t most_nodes_;
  OnnxImport& import_;
  OnnxNode node_;  // reads attributes and keeps the first error
  Nodes nodes_;
};

const Replacing::Entry Replacing::kEntries[] = {
    {"SequenceConstruct", &Replacing::Construct},
    {"SequenceEmpty", &Replacing::Empty},
    {"SequenceInsert", &Replacing::Insert},
    {"SequenceErase", &Replacing::Erase},
    {"SequenceAt", &Replacing::At},
    {"SequenceLength", &Replacing::Length},
    {"SplitToSequence", &Replacing::SplitApart},
    {"ConcatFromSequence", &Replacing::Join},
    {"SequenceMap", &Replacing::Map},
    {"Optional", &Replacing::MakeOptional},
    {"OptionalHasElement", &Replacing::HasElement},
    {"OptionalGetElement", &Replacing::GetElement},
    {"Identity", &Replacing::GetElement},  // of a sequence or an optional value
};

bool Replacing::Has(std::string_view op_type) {
  return std::ranges::find(kEntries, op_type, &Entry::op_type) != std::end(kEntries);
}

Status Replacing::Run() {
  const auto entry = std::ranges::find(kEntries, proto_.op_type(), &Entry::op_type);
  if (proto_.output_size() == 0 || Output().empty()) return InvalidArgument("has no output");
  (this->*entry->maker)();
  node_.RejectUnread();
  return node_.status();
}

Names Replacing::Sequence(int index) {
  if (!node_.ok()) return {};
  if (!node_.HasInput(index)) {
    node_.FailInvalid("input " + std::to_string(index) + " is missing");
    return {};
  }
  const std::string& name = proto_.input(index);
  if (const auto found = import_.sequences.find(name); found != import_.sequences.end()) {
    return found->second;
  }
  const auto type = import_.TypeOfValue(name);
  node_.FailInvalid("input " + std::to_string(index) + " (" + name + ") is " +
                    (type.ok() ? type->ToString() : std::string("an empty optional value")) +
                    ", expected a sequence");
  return {};
}

std::string Replacing::TensorName(int index) {
  if (!node_.ok()) return {};
  if (!node_.HasInput(index)) {
    node_.FailInvalid("input " + std::to_string(index) + " is missing");
    return {};
  }
  const std::string& name = proto_.input(index);
  if (auto type = import_.TypeOfValue(name); !type.ok()) node_.Fail(type.status());
  return name;
}

TensorType Replacing::TypeOfTensor(const std::string& name) {
  auto type = import_.TypeOfValue(name);
  if (type.ok()) return *std::move(type);
  node_.Fail(type.status());
  return {};
}

std::optional<std::int64_t> Replacing::Position(int index, std::int64_t count,
                                                std::int64_t fallback) {
  if (!node_.HasInput(index)) return fallback;
  const Tensor* known = node_.Known(index);
  if (!node_.ok() || known == nullptr) return std::nullopt;
  const Shape values = node_.KnownInts(index);
  if (!node_.ok()) return std::nullopt;
  const std::int64_t given = values.size() == 1 ? values[0] : 0;
  const std::int64_t place = given < 0 ? given + count : given;
  if (values.size() == 1 && place >= 0 && place < count) return place;
  node_.FailInvalid("the position (input " + std::to_string(index) + ") is " +
                    (values.size() == 1 ? std::to_string(given)
                                        : "of " + std::to_string(values.size()) + " elements") +
                    ", expected one within " + std::to_string(count) + " elements");
  return std::nullopt;
}

bool Replacing::Fits(std::int64_t elements, std::int64_t nodes) {
  if (!node_.ok()) return false;
  if (elements > OnnxImport::kMaxSequenceElements - import_.sequence_elements) {
    node_.FailUnsupported("the file's sequences so far have more than " +
                          std::to_string(OnnxImport::kMaxSequenceElements) + " elements in total");
  } else if (nodes > most_nodes_) {
    node_.FailUnsupported("it is replaced by " + std::to_string(nodes) +
                          " nodes, expected at most " + std::to_string(most_nodes_) +
                          ", the rest of the limit for such nodes");
  }
  return node_.ok();
}

void Replacing::SetSequence(Names elements) {
  if (!node_.ok()) return;
  if (std::ssize(elements) > kMaxElements) {
    return node_.FailUnsupported("the sequence has " + std::to_string(elements.size()) +
                                 " elements, expected at most " + std::to_string(kMaxElements));
  }
  if (!Fits(std::ssize(elements), 0)) return;
  import_.sequence_elements += std::ssize(elements);
  import_.sequences.insert_or_assign(Output(), std::move(elements));
}

void Replacing::HandOn(const std::string& name) {
  if (!node_.ok()) return;
  if (const auto found = import_.sequences.find(name); found != import_.sequences.end()) {
    Names elements = found->second;
    return SetSequence(std::move(elements));
  }
  if (import_.empty_optionals.contains(name)) {
    import_.empty_optionals.insert(Output());
    return;
  }
  Add("Identity", {name}, Output());
}

void Replacing::SetBool(bool value) {
  if (!node_.ok()) return;
  onnx::TensorProto& tensor = import_.made.emplace_back();
  tensor.set_name(Output());
  tensor.set_data_type(onnx::TensorProto::BOOL);
  tensor.add_int32_data(value ? 1 : 0);
  import_.initializers.emplace(Output(), &tensor);
}

std::string Replacing::NewName() {
  const std::string front = ShortPlace(Output());  // a node may need thousands of names
  for (std::size_t i = import_.used_names.size();; ++i) {
    std::string name = front + "#part" + std::to_string(i);
    if (import_.used_names.insert(name).second) return name;
  }
}

std::string Replacing::Integers(const Shape& values, bool scalar, const std::string& name) {
  onnx::TensorProto& tensor = import_.made.emplace_back();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  if (!scalar) tensor.add_dims(std::ssize(values));
  for (std::int64_t value : values) tensor.add_int64_data(value);
  import_.initializers.emplace(name, &tensor);
  return name;
}

NodeProto& Replacing::Add(const std::string& op_type, const Names& inputs,
                          const std::string& output) {
  NodeProto& made = nodes_.emplace_back();
  made.set_op_type(op_type);
  for (const std::string& input : inputs) made.add_input(input);
  made.add_output(output);
  return made;
}

void Replacing::SetInt(NodeProto& made, const std::string& name, std::int64_t value) {
  AttributeProto* attribute = made.add_attribute();
  attribute->set_name(name);
  attribute->set_type(AttributeProto::INT);
  attribute->set_i(value);
}

std::string Replacing::Reshaped(const std::string& tensor, const Shape& shape) {
  std::string name = NewName();
  Add("Reshape", {tensor, Integers(shape, false, NewName())}, name);
  return name;
}

void Replacing::Construct() {
  Names elements;
  for (int i = 0; i < node_.input_count(); ++i) elements.push_back(TensorName(i));
  if (elements.empty()) return node_.FailInvalid("has no input");
  SetSequence(std::move(elements));
}

void Replacing::Empty() {
  node_.IgnoreAttributes({"dtype"});
  SetSequence({});
}

void Replacing::Insert() {
  Names elements = Sequence(0);
  const std::string added = TensorName(1);
  const auto place = Position(2, std::ssize(elements) + 1, std::ssize(elements));
  if (!node_.ok()) return;
  if (!place) {
    return node_.FailUnsupported(
        "the position (input 2) is computed at run time, "
        "expected one that is constant at import");
  }
  // Negative positions count from the end: -1 is before the last element, and -count before the
  // first.
  const bool from_end = node_.HasInput(2) && node_.KnownInts(2)[0] < 0;
  if (from_end && *place == 0) {
    return node_.FailInvalid("the position (input 2) is " + std::to_string(node_.KnownInts(2)[0]) +
                             ", expected at least -" + std::to_string(elements.size()));
  }
  elements.insert(elements.begin() + (from_end ? *place - 1 : *place), added);
  SetSequence(std::move(elements));
}

void Replacing::Erase() {
  Names elements = Sequence(0);
  if (node_.ok() && elements.empty()) return node_.FailInvalid("the sequence is empty");
  const auto place = Position(1, std::ssize(elements), std::ssize(elements) - 1);
  if (!node_.ok()) return;
  if (!place) {
    return node_.FailUnsupported(
        "the position (input 1) is computed at run time, "
        "expected one that is constant at import");
  }
  elements.erase(elements.begin() + *place);
  SetSequence(std::move(elements));
}

// If the position is computed at run time, emits a gather; all tensors must have the same type.
void Replacing::At() {
  const Names elements = Sequence(0);
  if (node_.ok() && elements.empty()) return node_.FailInvalid("the sequence is empty");
  if (node_.ok() && !node_.HasInput(1)) return node_.FailInvalid("input 1 is missing");
  const auto place = Position(1, std::ssize(elements), 0);
  if (!node_.ok()) return;
  if (place) return HandOn(elements[static_cast<std::size_t>(*place)]);
  const TensorType type = TypeOfTensor(elements[0]);
  for (const std::string& element : elements) {
    const TensorType other = TypeOfTensor(element);
    if (!node_.ok()) return;
    if (other != type) {
      return node_.FailUnsupported(
          "the position (input 1) is computed at run time, and "
          "the sequence has " +
          type.ToString() + " and " + other.ToString() +
          "; expected elements of one type and shape");
    }
  }
  constexpr std::int64_t kBeside = 3;  // Concat, Reshape and Gather
  if (!Fits(0, std::ssize(elements) + kBeside)) return;
  Shape shape = type.shape;
  shape.insert(shape.begin(), 1);
  Names rows;
  for (const std::string& element : elements) rows.push_back(Reshaped(element, shape));
  const std::string joined = NewName();
  SetInt(Add("Concat", rows, joined), "axis", 0);
  const std::string number = NewName();
  Add("Reshape", {proto_.input(1), Integers({}, false, NewName())}, number);
  Add("Gather", {joined, number}, Output());
}

void Replacing::Length() {
  const Names elements = Sequence(0);
  if (node_.ok()) Integers({std::ssize(elements)}, true, Output());
}

// Splits a tensor into parts of one size, of given sizes, or of one element each.
void Replacing::SplitApart() {
  const std::string data = TensorName(0);
  if (!node_.ok()) return;
  const TensorType type = TypeOfTensor(data);
  const std::int64_t axis = node_.Axis(node_.Int("axis", 0), std::ssize(type.shape));
  const bool sized = node_.HasInput(1), keeps = node_.Int("keepdims", 1) != 0 || sized;
  if (!node_.ok()) return;
  const std::int64_t extent = type.shape[static_cast<std::size_t>(axis)];
  Shape sizes;
  std::int64_t each = 1;
  if (sized) {
    sizes = node_.KnownInts(1);
    if (!node_.ok()) return;
    if (node_.InputType(1).shape.empty()) {
      each = sizes[0];
      sizes.clear();
      if (each < 1) return node_.FailInvalid("split is " + std::to_string(each));
      each = std::min(each, std::max<std::int64_t>(extent, 1));  // sums with it are dimensions
    } else {
      each = 0;
    }
  }
  if (each > 0 && (extent + each - 1) / each > kMaxElements) {
    return node_.FailUnsupported("the sequence has " + std::to_string((extent + each - 1) / each) +
                                 " elements, expected at most " + std::to_string(kMaxElements));
  }
  for (std::int64_t begin = 0; each > 0 && begin < extent; begin += each) {
    sizes.push_back(std::min(each, extent - begin));
  }
  if (sizes.empty()) return SetSequence({});
  const std::int64_t count = std::ssize(sizes);
  if (!Fits(count, keeps ? 1 : 1 + count)) return;
  Names parts;
  for (std::size_t i = 0; i < sizes.size(); ++i) parts.push_back(NewName());
  NodeProto split;
  split.set_op_type("Split");
  split.add_input(data);
  for (const std::string& part : parts) split.add_output(part);
  SetInt(split, "axis", axis);
  if (import_.opset >= 13) {
    split.add_input(Integers(sizes, false, NewName()));
  } else {
    AttributeProto* attribute = split.add_attribute();
    attribute->set_name("split");
    attribute->set_type(AttributeProto::INTS);
    for (std::int64_t size : sizes) attribute->add_ints(size);
  }
  nodes_.push_back(std::move(split));
  if (!keeps) {
    Shape shape = type.shape;
    shape.erase(shape.begin() + axis);
    for (std::string& part : parts) part = Reshaped(part, shape);
  }
  SetSequence(std::move(parts));
}

void Replacing::Join() {
  Names elements = Sequence(0);
  const bool stacks = node_.Int("new_axis", 0) != 0;
  if (!node_.HasAttribute("axis")) node_.FailInvalid("attribute axis is missing");
  if (node_.ok() && elements.empty()) node_.FailInvalid("the sequence is empty");
  if (!node_.ok()) return;
  const std::int64_t rank = std::ssize(TypeOfTensor(elements[0]).shape) + (stacks ? 1 : 0);
  const std::int64_t axis = node_.Axis(node_.Int("axis", 0), rank);
  for (const std::string& element : elements) {
    const std::int64_t own = std::ssize(TypeOfTensor(element).shape) + (stacks ? 1 : 0);
    if (!node_.ok()) return;
    if (stacks && own != rank) {
      return node_.FailInvalid("the sequence's elements have " + std::to_string(rank - 1) +
                               " and " + std::to_string(own - 1) + " dimensions");
    }
  }
  if (!Fits(0, stacks ? 1 + std::ssize(elements) : 1)) return;
  for (std::size_t i = 0; stacks && i < elements.size(); ++i) {
    std::string& element = elements[i];
    Shape shape = TypeOfTensor(element).shape;
    shape.insert(shape.begin() + axis, 1);
    element = Reshaped(element, shape);
  }
  SetInt(Add("Concat", elements, Output()), "axis", axis);
}

// Emits the body once for each element.
void Replacing::Map() {
  const Names first = Sequence(0);
  const onnx::GraphProto* body = GraphOf(proto_, "body");
  node_.IgnoreAttributes({"body"});
  if (body == nullptr) node_.FailInvalid("attribute body is missing");
  if (!node_.ok()) return;
  if (body->input_size() != proto_.input_size() || body->output_size() != proto_.output_size()) {
    return node_.FailInvalid("its body has " + std::to_string(body->input_size()) + " inputs and " +
                             std::to_string(body->output_size()) + " outputs, expected " +
                             std::to_string(proto_.input_size()) + " and " +
                             std::to_string(proto_.output_size()));
  }
  const std::int64_t count = std::ssize(first), results_of_step = proto_.output_size();
  if (!Fits(count * (proto_.input_size() + results_of_step),
            count * std::max(1, body->node_size()))) {
    return;
  }
  std::vector<Names> steps(first.size());
  for (int i = 0; i < node_.input_count() && node_.ok(); ++i) {
    const Names elements = IsSequence(i) ? Sequence(i) : Names(first.size(), TensorName(i));
    if (node_.ok() && elements.size() != first.size()) {
      node_.FailInvalid("input " + std::to_string(i) + " has " + std::to_string(elements.size()) +
                        " elements, expected " + std::to_string(first.size()));
    }
    for (std::size_t k = 0; node_.ok() && k < steps.size(); ++k) steps[k].push_back(elements[k]);
  }
  if (!node_.ok()) return;
  // The names of a step's values begin with the name of the node's result.
  auto names = static_cast<double>(results_of_step);
  for (const NodeProto& inner : body->node()) names += static_cast<double>(inner.output_size());
  const double bytes =
      (static_cast<double>(body->ByteSizeLong()) + names * static_cast<double>(Output().size())) *
      static_cast<double>(count);
  if (bytes > OnnxImport::kMaxConstantBytes) {
    return node_.FailUnsupported(std::to_string(steps.size()) +
                                 " elements, expected fewer for a body of " +
                                 std::to_string(body->ByteSizeLong()) + " bytes");
  }
  std::vector<std::vector<std::string>> results;
  auto made = UnrollSequenceMap(proto_, *body, steps, results, import_);
  if (!made.ok()) return node_.Fail(made.status());
  nodes_ = *std::move(made);
  import_.sequence_elements += count * results_of_step;
  for (int i = 0; i < proto_.output_size(); ++i) {
    if (proto_.output(i).empty()) continue;
    import_.sequences.insert_or_assign(proto_.output(i),
                                       std::move(results[static_cast<std::size_t>(i)]));
  }
}

void Replacing::MakeOptional() {
  node_.IgnoreAttributes({"type"});
  if (node_.HasInput(0)) return HandOn(proto_.input(0));
  import_.empty_optionals.insert(Output());
}

void Replacing::HasElement() {
  SetBool(node_.HasInput(0) && !import_.empty_optionals.contains(proto_.input(0)));
}

void Replacing::GetElement() {
  if (!node_.HasInput(0)) return node_.FailInvalid("input 0 is missing");
  const bool get = proto_.op_type() != "Identity";
  if (get && import_.empty_optionals.contains(proto_.input(0))) {
    return node_.FailInvalid("the optional value " + proto_.input(0) +
                             " is empty; expected a value, or an If around this node whose "
                             "condition is OptionalHasElement");
  }
  HandOn(proto_.input(0));
}

}  // namespace sequences
}  // namespace

bool IsSequenceOperator(const onnx::NodeProto& node) {
  // Identity also applies to tensors.
  return DomainOf(node).empty() && node.op_type() != "Identity" &&
         sequences::Replacing::Has(node.op_type());
}

Result<std::optional<std::vector<onnx::NodeProto>>> ExpandSequence(const onnx::NodeProto& node,
                                                                   std::int64_t most_nodes,
                                                                   OnnxImport& import) {
  const bool hands_on =
      DomainOf(node).empty() && node.op_type() == "Identity" && node.input_size() == 1 &&
      (import.sequences.contains(node.input(0)) || import.empty_optionals.contains(node.input(0)));
  if (!hands_on && !IsSequenceOperator(node)) return std::optional<std::vector<onnx::NodeProto>>();
  sequences::Replacing replacing(node, most_nodes, import);
  TW_RETURN_IF_ERROR(replacing.Run());
  return std::optional(replacing.Take());
}

}  // namespace tilewright
