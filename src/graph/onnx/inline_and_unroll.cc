// Inlines and unrolls the constructs around operators of a file before the import: local functions
// with their attributes, branches with constant conditions, and the steps of a Scan or Loop.
#include "src/graph/onnx/inline_and_unroll.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/sparse.h"

namespace tilewright {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;
using Names = std::map<std::string, std::string, std::less<>>;
using Strings = std::vector<std::string>;

// Fields of the format that are newer than the library that reads it.
constexpr int kNodeOverload = 8, kFunctionOverload = 13, kFunctionDefaults = 11;

std::vector<std::string> UnknownFields(const google::protobuf::Message& message, int number) {
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  std::vector<std::string> contents;
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    const bool text = field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
    if (field.number() == number && text) contents.push_back(field.length_delimited());
  }
  return contents;
}

std::string OverloadOf(const google::protobuf::Message& message, int number) {
  const auto found = UnknownFields(message, number);
  return found.empty() ? std::string() : found.back();
}

std::string FunctionKey(const std::string& domain, const std::string& name,
                        const std::string& overload) {
  return (domain == "ai.onnx" ? std::string() : domain) + '\n' + name + '\n' + overload;
}

void Rename(std::string& name, const Names& names) {
  if (const auto found = names.find(name); found != names.end()) name = found->second;
}

// Visits the values that a subgraph defines.
template <typename Visit>
void ForEachMade(const GraphProto& graph, const Visit& visit) {
  for (const auto& input : graph.input()) visit(input.name());
  for (const auto& initializer : graph.initializer()) visit(initializer.name());
  for (const auto& sparse : graph.sparse_initializer()) visit(sparse.values().name());
  for (const NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) visit(output);
  }
}

void RenameValues(NodeProto& node, const Names& names);

void RenameCaptured(GraphProto& graph, Names names) {
  ForEachMade(graph, [&](const std::string& made) { names.erase(made); });
  for (NodeProto& node : *graph.mutable_node()) RenameValues(node, names);
  for (auto& output : *graph.mutable_output()) Rename(*output.mutable_name(), names);
}

void RenameValues(NodeProto& node, const Names& names) {
  for (std::string& input : *node.mutable_input()) Rename(input, names);
  for (std::string& output : *node.mutable_output()) Rename(output, names);
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) RenameCaptured(*attribute.mutable_g(), names);
    for (GraphProto& graph : *attribute.mutable_graphs()) RenameCaptured(graph, names);
  }
}

// Replaces references to attributes of the function by the arguments of the call.
void ResolveReferences(NodeProto& node,
                       const std::map<std::string, const AttributeProto*, std::less<>>& values) {
  google::protobuf::RepeatedPtrField<AttributeProto> resolved;
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.ref_attr_name().empty()) {
      if (attribute.has_g()) {
        for (NodeProto& inner : *attribute.mutable_g()->mutable_node()) {
          ResolveReferences(inner, values);
        }
      }
      for (GraphProto& graph : *attribute.mutable_graphs()) {
        for (NodeProto& inner : *graph.mutable_node()) ResolveReferences(inner, values);
      }
      *resolved.Add() = std::move(attribute);
      continue;
    }
    const auto found = values.find(attribute.ref_attr_name());
    if (found == values.end()) continue;  // the operator's own default applies
    AttributeProto* copy = resolved.Add();
    *copy = *found->second;
    copy->set_name(attribute.name());
  }
  node.mutable_attribute()->Swap(&resolved);
}

// Returns a prefix for names of values of replacing nodes. No other name begins with it.
std::string FreshPrefix(const NodeProto& node, const OnnxImport& import) {
  std::string base;
  for (const std::string& output : node.output()) {
    if (!output.empty() && base.empty()) base = output;
  }
  for (int i = 0;; ++i) {
    const std::string prefix = base + (i == 0 ? "/" : "/" + std::to_string(i) + "/");
    const auto next = import.used_names.lower_bound(prefix);
    if (next == import.used_names.end() || !next->starts_with(prefix)) return prefix;
  }
}

NodeProto NodeOf(const std::string& op_type, const Strings& inputs, const std::string& output) {
  NodeProto node;
  node.set_op_type(op_type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void SetAxis(NodeProto& node, std::int64_t axis) {
  AttributeProto* attribute = node.add_attribute();
  attribute->set_name("axis");
  attribute->set_type(AttributeProto::INT);
  attribute->set_i(axis);
}

// Adds an initializer with an integer, as a scalar or as a list of one.
void AddNumber(const std::string& name, std::int64_t number, bool list, OnnxImport& import) {
  onnx::TensorProto& tensor = import.made.emplace_back();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  if (list) tensor.add_dims(1);
  tensor.add_int64_data(number);
  import.initializers.emplace(name, &tensor);
  import.used_names.insert(name);
}

NodeProto IdentityOf(const std::string& from, const std::string& to) {
  return NodeOf("Identity", {from}, to);
}

// Adds an initializer for an empty list with the declared element type. Adds nothing if no shape is
// declared.
void AddEmptyList(const onnx::ValueInfoProto& element, const std::string& name,
                  OnnxImport& import) {
  const auto& type = element.type().tensor_type();
  const auto open = [](const auto& dim) { return !dim.has_dim_value(); };
  if (!type.has_shape() || std::ranges::any_of(type.shape().dim(), open)) return;
  onnx::TensorProto& list = import.made.emplace_back();
  list.set_name(name);
  list.set_data_type(type.elem_type());
  list.add_dims(0);
  for (const auto& dim : type.shape().dim()) list.add_dims(dim.dim_value());
  import.initializers.emplace(name, &list);
}

// Adds the initializers of a subgraph to the import. where: for messages.
Status AddConstants(const GraphProto& graph, const std::string& prefix, const std::string& where,
                    Names& names, OnnxImport& import) {
  for (const auto& initializer : graph.initializer()) {
    const std::string name = prefix + initializer.name();
    if (!names.emplace(initializer.name(), name).second ||
        !import.initializers.emplace(name, &initializer).second) {
      return InvalidArgument("value '" + initializer.name() + "' of " + where +
                             " is defined twice");
    }
    import.used_names.insert(name);
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    const std::string& inner = sparse.values().name();
    TW_RETURN_IF_ERROR(AddSparseInitializer(sparse, prefix + inner, import));
    if (!names.emplace(inner, prefix + inner).second) {
      return InvalidArgument("value '" + inner + "' of " + where + " is defined twice");
    }
    import.used_names.insert(prefix + inner);
  }
  return Status();
}

// Returns the contents of a large Constant; null for other nodes. Steps of a loop share them as
// they share the body's initializers.
const onnx::TensorProto* LargeConstant(const NodeProto& node) {
  constexpr std::int64_t kMinElements = 1024;
  const bool constant = node.op_type() == "Constant" && node.domain().empty() &&
                        node.output_size() == 1 && node.attribute_size() == 1;
  if (!constant || node.attribute(0).name() != "value" || !node.attribute(0).has_t()) {
    return nullptr;
  }
  const onnx::TensorProto& tensor = node.attribute(0).t();
  if (tensor.data_type() == onnx::TensorProto::STRING) return nullptr;
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor.dims()) {
    if (extent <= 0) return nullptr;
    elements = std::min(elements, kMinElements) * std::min(extent, kMinElements);
  }
  return elements >= kMinElements ? &tensor : nullptr;
}

// Adds the initializers and large constants of a body, which its steps share.
Status AddConstantsOfBody(const GraphProto& body, const std::string& prefix, Names& names,
                          OnnxImport& import) {
  TW_RETURN_IF_ERROR(AddConstants(body, prefix, "its body", names, import));
  for (const NodeProto& node : body.node()) {
    const onnx::TensorProto* contents = LargeConstant(node);
    if (contents == nullptr) continue;
    const std::string& inner = node.output(0);
    const std::string name = prefix + inner;
    if (!names.emplace(inner, name).second || !import.initializers.emplace(name, contents).second) {
      return InvalidArgument("value '" + inner + "' of its body is defined twice");
    }
    import.used_names.insert(name);
  }
  return Status();
}

// Adds a copy of the nodes of a body. Names of their results get the prefix `own`.
void AddBody(const GraphProto& body, const std::string& own, Names& names,
             std::vector<NodeProto>& nodes, OnnxImport& import) {
  for (const NodeProto& inner : body.node()) {
    if (LargeConstant(inner) != nullptr) continue;
    for (const std::string& output : inner.output()) {
      if (!output.empty()) names.insert_or_assign(output, own + output);
    }
  }
  for (const NodeProto& inner : body.node()) {
    if (LargeConstant(inner) != nullptr) continue;
    NodeProto& copy = nodes.emplace_back(inner);
    RenameValues(copy, names);
    import.used_names.insert(copy.output().begin(), copy.output().end());
  }
}

// Returns a node that inserts a new dimension into `name`, as one element of a list.
NodeProto ElementOfList(const std::string& name, std::int64_t axis, const std::string& element,
                        OnnxImport& import) {
  const std::string axes = element + "/axes";
  const bool input = import.opset >= 13;  // axes were an attribute before
  NodeProto node = NodeOf("Unsqueeze", input ? Strings{name, axes} : Strings{name}, element);
  if (input) {
    AddNumber(axes, axis, true, import);
  } else {
    AttributeProto* attribute = node.add_attribute();
    attribute->set_name("axes");
    attribute->set_type(AttributeProto::INTS);
    attribute->add_ints(axis);
  }
  return node;
}

}  // namespace

Result<LocalFunctions> LocalFunctions::Of(const onnx::ModelProto& model) {
  LocalFunctions functions;
  for (const FunctionProto& function : model.functions()) {
    // The importer implements the operators of this project's domain; the function is for other
    // programs.
    const bool own = function.domain() == kOwnDomain;
    if (own && FindOnnxHandler(kOwnDomain, function.name()) != nullptr) continue;
    const std::string key =
        FunctionKey(function.domain(), function.name(), OverloadOf(function, kFunctionOverload));
    if (!functions.functions_.emplace(key, &function).second) {
      return InvalidArgument("function '" + function.name() + "' is defined twice");
    }
  }
  return functions;
}

const FunctionProto* LocalFunctions::Find(const NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto found =
      functions_.find(FunctionKey(node.domain(), node.op_type(), OverloadOf(node, kNodeOverload)));
  return found == functions_.end() ? nullptr : found->second;
}

Result<std::vector<NodeProto>> InlineCall(const NodeProto& call, const FunctionProto& function,
                                          OnnxImport& import) {
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    return InvalidArgument("has " + std::to_string(call.input_size()) + " inputs and " +
                           std::to_string(call.output_size()) + " outputs, the function has " +
                           std::to_string(function.input_size()) + " and " +
                           std::to_string(function.output_size()));
  }
  const std::string prefix = FreshPrefix(call, import);
  Names names;
  for (const NodeProto& node : function.node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) names.emplace(output, prefix + output);
    }
  }
  for (int i = 0; i < function.input_size(); ++i) {
    names.insert_or_assign(function.input(i), i < call.input_size() ? call.input(i) : "");
  }
  std::vector<NodeProto> handed_on;
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    std::string& name = names[function.output(i)];
    const bool made = name == prefix + function.output(i);
    if (made) {
      name = call.output(i);
    } else if (!name.empty()) {  // an input, or an output that occurs twice
      handed_on.push_back(IdentityOf(name, call.output(i)));
    } else {
      return InvalidArgument("output '" + function.output(i) + "' of function '" + function.name() +
                             "' is computed by none of its nodes");
    }
  }
  std::vector<AttributeProto> defaults;
  for (const std::string& text : UnknownFields(function, kFunctionDefaults)) {
    if (!defaults.emplace_back().ParseFromString(text)) {
      return InvalidArgument("function '" + function.name() + "' has a damaged attribute");
    }
  }
  std::map<std::string, const AttributeProto*, std::less<>> values;
  for (const AttributeProto& attribute : defaults) values.emplace(attribute.name(), &attribute);
  for (const AttributeProto& attribute : call.attribute()) {
    const bool known =
        values.contains(attribute.name()) ||
        std::ranges::find(function.attribute(), attribute.name()) != function.attribute().end();
    if (!known) {
      return Unsupported("attribute " + attribute.name() + " is not defined for function '" +
                         function.name() + "'");
    }
    values.insert_or_assign(attribute.name(), &attribute);
  }
  std::vector<NodeProto> nodes(function.node().begin(), function.node().end());
  for (NodeProto& node : nodes) {
    ResolveReferences(node, values);
    RenameValues(node, names);
    import.used_names.insert(node.output().begin(), node.output().end());
  }
  nodes.insert(nodes.end(), handed_on.begin(), handed_on.end());
  return nodes;
}

Result<std::vector<NodeProto>> InlineBranch(const NodeProto& node, const GraphProto& branch,
                                            OnnxImport& import) {
  if (branch.input_size() > 0 || branch.output_size() != node.output_size()) {
    return InvalidArgument("its branch has " + std::to_string(branch.input_size()) +
                           " inputs and " + std::to_string(branch.output_size()) +
                           " outputs, expected 0 and " + std::to_string(node.output_size()));
  }
  const std::string prefix = FreshPrefix(node, import);
  Names names;
  for (const NodeProto& inner : branch.node()) {
    for (const std::string& output : inner.output()) {
      if (!output.empty()) names.emplace(output, prefix + output);
    }
  }
  std::vector<NodeProto> handed_on;
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const std::string& result = branch.output(i).name();
    const auto found = names.find(result);
    if (found != names.end() && found->second == prefix + result) {
      found->second = node.output(i);
      continue;
    }
    // An outer value, a constant of the branch, or an output that occurs twice.
    handed_on.push_back(IdentityOf(result, node.output(i)));
  }
  TW_RETURN_IF_ERROR(AddConstants(branch, prefix, "a branch", names, import));
  std::vector<NodeProto> nodes(branch.node().begin(), branch.node().end());
  for (NodeProto& inner : nodes) {
    RenameValues(inner, names);
    import.used_names.insert(inner.output().begin(), inner.output().end());
  }
  for (NodeProto& inner : handed_on) {
    Rename(*inner.mutable_input(0), names);
    nodes.push_back(std::move(inner));
  }
  return nodes;
}

Result<std::vector<NodeProto>> UnrollScan(const NodeProto& node, const GraphProto& body,
                                          const ScanOrder& order, OnnxImport& import) {
  const int scans = static_cast<int>(order.input_axes.size());
  const int results = static_cast<int>(order.output_axes.size());
  const int states = node.input_size() - scans;
  if (body.input_size() != node.input_size() || body.output_size() != states + results ||
      node.output_size() > body.output_size()) {
    return InvalidArgument("its body has " + std::to_string(body.input_size()) + " inputs and " +
                           std::to_string(body.output_size()) + " outputs, expected " +
                           std::to_string(node.input_size()) + " and " +
                           std::to_string(states + results));
  }
  const std::string prefix = FreshPrefix(node, import);
  Names constants;
  TW_RETURN_IF_ERROR(AddConstantsOfBody(body, prefix, constants, import));
  std::vector<std::string> state(node.input().begin(), node.input().begin() + states);
  std::vector<std::vector<std::string>> made(static_cast<std::size_t>(results));
  std::vector<NodeProto> nodes;
  for (std::int64_t step = 0; step < order.steps; ++step) {
    const std::string own = prefix + std::to_string(step) + "/";
    Names names = constants;
    for (int i = 0; i < states; ++i) {
      names.insert_or_assign(body.input(i).name(), state[static_cast<std::size_t>(i)]);
    }
    for (int i = 0; i < scans; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::string element = own + "in/" + std::to_string(i), place = element + "/place";
      AddNumber(place, order.input_reversed[at] ? order.steps - 1 - step : step, false, import);
      nodes.push_back(NodeOf("Gather", {node.input(states + i), place}, element));
      SetAxis(nodes.back(), order.input_axes[at]);
      names.insert_or_assign(body.input(states + i).name(), element);
    }
    AddBody(body, own, names, nodes, import);
    for (int i = 0; i < states + results; ++i) {
      std::string name = body.output(i).name();
      Rename(name, names);
      if (i < states) {
        state[static_cast<std::size_t>(i)] = name;
        continue;
      }
      const std::string list = own + "out/" + std::to_string(i);
      const std::int64_t axis = order.output_axes[static_cast<std::size_t>(i - states)];
      nodes.push_back(ElementOfList(name, axis, list, import));
      made[static_cast<std::size_t>(i - states)].push_back(list);
    }
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    if (i < states) {
      nodes.push_back(IdentityOf(state[static_cast<std::size_t>(i)], node.output(i)));
      continue;
    }
    const auto at = static_cast<std::size_t>(i - states);
    if (order.output_reversed[at]) std::ranges::reverse(made[at]);
    nodes.push_back(NodeOf("Concat", made[at], node.output(i)));
    SetAxis(nodes.back(), order.output_axes[at]);
  }
  return nodes;
}

Result<std::vector<NodeProto>> UnrollSequenceMap(const NodeProto& node, const GraphProto& body,
                                                 const std::vector<Strings>& steps,
                                                 std::vector<Strings>& results,
                                                 OnnxImport& import) {
  if (body.input_size() != node.input_size() || body.output_size() != node.output_size()) {
    return InvalidArgument("its body has " + std::to_string(body.input_size()) + " inputs and " +
                           std::to_string(body.output_size()) + " outputs, expected " +
                           std::to_string(node.input_size()) + " and " +
                           std::to_string(node.output_size()));
  }
  const std::string prefix = FreshPrefix(node, import);
  Names constants;
  TW_RETURN_IF_ERROR(AddConstantsOfBody(body, prefix, constants, import));
  results.assign(static_cast<std::size_t>(node.output_size()), {});
  std::vector<NodeProto> nodes;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    Names names = constants;
    for (int i = 0; i < body.input_size(); ++i) {
      names.insert_or_assign(body.input(i).name(), steps[step][static_cast<std::size_t>(i)]);
    }
    AddBody(body, prefix + std::to_string(step) + "/", names, nodes, import);
    for (int i = 0; i < body.output_size(); ++i) {
      std::string name = body.output(i).name();
      Rename(name, names);
      results[static_cast<std::size_t>(i)].push_back(std::move(name));
    }
  }
  return nodes;
}

Result<LoopUnroller> LoopUnroller::Of(const NodeProto& node, const GraphProto& body,
                                      OnnxImport& import) {
  constexpr int kBeside = 2;  // trip count and condition, or step number and condition
  const int carried = node.input_size() - kBeside;
  const int lists = body.output_size() - 1 - carried;
  if (carried < 0 || body.input_size() != node.input_size() || lists < 0 ||
      node.output_size() > carried + lists) {
    return InvalidArgument("it has " + std::to_string(node.input_size()) + " inputs and " +
                           std::to_string(node.output_size()) + " outputs, its body " +
                           std::to_string(body.input_size()) + " and " +
                           std::to_string(body.output_size()) +
                           ", expected as many inputs, and a condition more");
  }
  LoopUnroller loop(node, body, import);
  loop.prefix_ = FreshPrefix(node, import);
  loop.condition_ = node.input(1);
  loop.carried_.assign(node.input().begin() + kBeside, node.input().end());
  loop.lists_.resize(static_cast<std::size_t>(lists));
  TW_RETURN_IF_ERROR(AddConstantsOfBody(body, loop.prefix_, loop.constants_, import));
  onnx::TensorProto& going_on = import.made.emplace_back();
  going_on.set_name(loop.prefix_ + "true");
  going_on.set_data_type(onnx::TensorProto::BOOL);
  going_on.add_int32_data(1);
  import.initializers.emplace(going_on.name(), &going_on);
  import.used_names.insert(going_on.name());
  return loop;
}

std::vector<NodeProto> LoopUnroller::Next() {
  const std::string own = prefix_ + std::to_string(steps_) + "/";
  Names names = constants_;
  AddNumber(own + "step", steps_, false, *import_);
  names.insert_or_assign(body_->input(0).name(), own + "step");
  names.insert_or_assign(body_->input(1).name(), prefix_ + "true");
  for (std::size_t i = 0; i < carried_.size(); ++i) {
    names.insert_or_assign(body_->input(static_cast<int>(i) + 2).name(), carried_[i]);
  }
  std::vector<NodeProto> nodes;
  AddBody(*body_, own, names, nodes, *import_);
  const auto output = [&](std::size_t i) {
    std::string name = body_->output(static_cast<int>(i)).name();
    Rename(name, names);
    return name;
  };
  condition_ = output(0);
  for (std::size_t i = 0; i < carried_.size(); ++i) carried_[i] = output(1 + i);
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    const std::string element = own + "out/" + std::to_string(i);
    nodes.push_back(ElementOfList(output(1 + carried_.size() + i), 0, element, *import_));
    lists_[i].push_back(element);
  }
  ++steps_;
  return nodes;
}

std::vector<NodeProto> LoopUnroller::Results() {
  std::vector<NodeProto> nodes;
  for (int i = 0; i < node_->output_size(); ++i) {
    const std::string& name = node_->output(i);
    const auto at = static_cast<std::size_t>(i);
    if (name.empty()) continue;
    if (at < carried_.size()) {
      nodes.push_back(IdentityOf(carried_[at], name));
      continue;
    }
    if (steps_ == 0) {
      AddEmptyList(body_->output(1 + i), name, *import_);
      continue;
    }
    nodes.push_back(NodeOf("Concat", lists_[at - carried_.size()], name));
    SetAxis(nodes.back(), 0);
  }
  return nodes;
}

std::vector<std::string> CapturedValues(const NodeProto& node) {
  std::vector<std::string> captured;
  const auto visit = [&](const GraphProto& graph) {
    std::set<std::string, std::less<>> made;
    ForEachMade(graph, [&](const std::string& name) { made.insert(name); });
    const auto read = [&](const std::string& name) {
      if (!name.empty() && !made.contains(name)) captured.push_back(name);
    };
    for (const NodeProto& inner : graph.node()) {
      for (const std::string& input : inner.input()) read(input);
      for (const std::string& name : CapturedValues(inner)) read(name);
    }
    for (const auto& output : graph.output()) read(output.name());
  };
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const GraphProto& graph : attribute.graphs()) visit(graph);
  }
  return captured;
}

}  // namespace tilewright
