// Writes a graph as the text of a Relay module: values numbered in order, scalars as literals,
// operators that Relay lacks with a prefix.

#include "src/graph/relay/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "src/base/strings.h"
#include "src/graph/relay/attribute_writer.h"
#include "src/graph/relay/metadata.h"
#include "src/graph/relay/operators.h"
#include "src/graph/relay/syntax.h"
#include "src/tensor/operator_table.h"

namespace tilewright::relay {
namespace {

std::string TypeComment(const Type& type) { return " ty=" + ToString(type) + " "; }

/// Returns the spelling of a number; empty if literals cannot have its type.
std::string Literal(double value, DataType dtype) {
  if (dtype == kFloat32 && std::isfinite(value)) return ShortestDouble(value) + "f";
  if (!dtype.is_integer() || dtype.bits > 32) return {};
  const std::string digits = std::to_string(static_cast<std::int64_t>(value));
  if (dtype == kInt32) return digits;
  return fmt::format("{}{}{}", digits, dtype.code == TypeCode::kInt ? "i" : "u", dtype.bits);
}

/// Returns a valid name for the text: letters, digits, "_" and ".".
std::string VariableName(std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '_';
  }
  const bool digit = name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0;
  return digit ? "v" + name : name;
}

class Exporter {
 public:
  Exporter(const Graph& graph, const FunctionSplit& split)
      : graph_(graph), split_(split), body_(EmptyBody()) {}

  Result<std::string> Run() {
    TW_RETURN_IF_ERROR(CheckOperators());
    TW_RETURN_IF_ERROR(CheckElements());
    TW_RETURN_IF_ERROR(CheckConstants());
    module_.version = "0.0.5";
    Build();
    module_.metadata = "\n\n" + WriteMetadata(contents_, values_, graph_.synthetic_constants);
    std::string text = Print(module_, Numbering::kKeep);
    if (text.size() <= kMaxTextBytes + kMaxMetadataBytes) return text;
    return Unsupported(fmt::format("text of {} bytes with the constants, expected at most {}",
                                   text.size(), kMaxTextBytes + kMaxMetadataBytes));
  }

  Result<std::string> List() {
    TW_RETURN_IF_ERROR(CheckOperators());
    typed_twice_ = graph_.style.parameters_typed_twice;
    module_.ends_in_newline = graph_.style.ends_in_newline;
    Build();
    module_.definitions.front().comments = graph_.style.notes;
    return Print(module_, Numbering::kRecompute);
  }

 private:
  using Ids = std::set<int>;
  /// Function under construction.
  struct Body {
    Function function;
    std::vector<int> exprs;  ///< expressions of the graph's values
  };

  void Build() {
    if (split_.names.empty()) {
      for (int id = 0; id < graph_.size(); ++id) AddNode(id);
      AddResult(graph_.outputs());
      FinishFunction("main");
    } else {
      BuildFunctions();
    }
  }

  /// Builds a function for each part that has operators, and main, which calls them.
  void BuildFunctions() {
    for (int id : graph_.inputs()) AddNode(id);  // first, because users chose their names
    Body main = std::exchange(body_, EmptyBody());
    std::vector<std::pair<std::string, Part>> calls;
    for (int i = 0; i < std::ssize(split_.names); ++i) {
      Part part = PartOf(i);
      if (part.operators.empty()) continue;
      const std::string& name = split_.names[static_cast<std::size_t>(i)];
      BuildPart(part);
      FinishFunction(name);
      calls.emplace_back(name, std::move(part));
    }
    body_ = std::move(main);
    for (const auto& [name, part] : calls) CallPart(name, part);
    for (int id : graph_.outputs()) {
      if (graph_.node(id).kind == NodeKind::kConstant) AddNode(id);
    }
    AddResult(graph_.outputs());
    FinishFunction("main");
  }

  int& ExprOf(int id) { return body_.exprs[static_cast<std::size_t>(id)]; }

  Body EmptyBody() const { return {{}, std::vector<int>(graph_.nodes().size(), -1)}; }

  struct Part {
    Ids operators, constants;
    std::vector<int> parameters, results;  ///< values from and to other parts
  };

  Part PartOf(int index) const {
    Part part;
    Ids outside, results;
    for (int id = 0; id < graph_.size(); ++id) {
      if (graph_.node(id).kind != NodeKind::kOperator) continue;
      const bool inside = FunctionOf(id) == index;
      if (inside) part.operators.insert(id);
      for (int input : graph_.node(id).inputs) {
        const NodeKind kind = graph_.node(input).kind;
        if (kind == NodeKind::kConstant) {
          if (inside) part.constants.insert(input);
          continue;
        }
        const bool made_here = kind == NodeKind::kOperator && FunctionOf(input) == index;
        if (inside && !made_here) outside.insert(input);
        if (!inside && made_here) results.insert(input);
      }
    }
    for (int id : graph_.outputs()) {
      if (part.operators.contains(id)) results.insert(id);
    }
    part.parameters.assign(outside.begin(), outside.end());
    part.results.assign(results.begin(), results.end());
    return part;
  }

  int FunctionOf(int id) const { return split_.function_of[static_cast<std::size_t>(id)]; }

  void BuildPart(const Part& part) {
    for (int id : part.parameters) {
      std::string name = "p" + std::to_string(parts_parameters_++);
      while (!names_.insert(name).second) name += "_";
      ExprOf(id) = AppendParameter(name, graph_.node(id).type);
    }
    for (int id = 0; id < graph_.size(); ++id) {
      if (part.operators.contains(id) || part.constants.contains(id)) AddNode(id);
    }
    AddResult(part.results);
  }

  void CallPart(const std::string& name, const Part& part) {
    Expr global;
    global.kind = ExprKind::kGlobal;
    global.text = name;
    Expr call;
    call.callee = Append(std::move(global));
    for (int id : part.parameters) call.args.push_back(ExprOf(id));
    call.comments.push_back(TypeComment(TypeOfAll(part.results)));
    const int result = AppendStatement(std::move(call));
    for (std::size_t i = 0; i < part.results.size(); ++i) {
      const int id = part.results[i];
      ExprOf(id) = part.results.size() == 1 ? result : Append(Projection(result, i, id));
    }
  }

  Expr Projection(int tuple, std::size_t field, int id) const {
    Expr projection;
    projection.kind = ExprKind::kProjection;
    projection.args = {tuple};
    projection.index = static_cast<std::int64_t>(field);
    projection.comments = {TypeComment(TypeOf(graph_.node(id).type))};
    return projection;
  }

  void FinishFunction(std::string name) {
    const auto index = static_cast<int>(module_.functions.size());
    module_.functions.push_back(std::exchange(body_, EmptyBody()).function);
    module_.definitions.push_back({std::move(name), {}, index});
  }

  /// Returns whether the operator has a name, one result, and numbers that literals can represent.
  static bool HasText(const Node& node) {
    const OpAttributes& a = node.op.attributes;
    switch (node.op.kind) {
      case OpKind::kSoftmax:
      case OpKind::kLogSoftmax:
        return !a.flatten || a.axis + 1 == std::ssize(node.type.shape);
      case OpKind::kPad:
        return std::isfinite(a.pad_value);
      case OpKind::kLayoutTransform:
        return a.new_shape.empty();
      case OpKind::kLrn:
        return std::isfinite(a.alpha) && std::isfinite(a.beta) && std::isfinite(a.bias);
      default:
        return !RelayName(node.op.kind).empty() && HasFiniteArguments(node.op);
    }
  }

  static bool HasFiniteArguments(const Operator& op) {
    return std::ranges::all_of(RowOf(op.kind).arguments, [&](const OpArgument& argument) {
      const auto* number = std::get_if<double OpAttributes::*>(&argument.field);
      return number == nullptr || std::isfinite(op.attributes.*(*number));
    });
  }

  Status CheckOperators() const {
    std::map<std::string, int> unknown;
    for (const Node& node : graph_.nodes()) {
      if (node.type.shape.size() > kMaxRank) {
        return Unsupported(
            fmt::format("value {} of type {}: Relay text supports at most {} dimensions", node.name,
                        node.type.ToString(), kMaxRank));
      }
      if (node.kind != NodeKind::kOperator) continue;
      if (!HasText(node)) ++unknown[std::string(OpName(node.op.kind))];
    }
    if (unknown.empty()) return Status();
    std::string list;
    for (const auto& [name, count] : unknown) {
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, count);
    }
    return Unsupported("Relay text has no operator for: " + list);
  }

  /// Checks for zero-size tensors, which the importer rejects. Only constants and inputs can be
  /// zero-size.
  Status CheckElements() const {
    for (const Node& node : graph_.nodes()) {
      if (node.type.elements() > 0) continue;
      return Unsupported(fmt::format("value {} of type {}: Relay text has no zero-size tensors",
                                     node.name, node.type.ToString()));
    }
    return Status();
  }

  Status CheckConstants() const {
    for (int id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::kConstant) continue;
      if (!graph_.HasContents(id)) {
        return InvalidArgument("constant " + node.name + " has no contents");
      }
      if (node.type.dtype.code == TypeCode::kBool) {
        return Unsupported("constant " + node.name + " of type bool");
      }
    }
    return Status();
  }

  int Append(Expr expr) {
    module_.exprs.push_back(std::move(expr));
    return static_cast<int>(module_.exprs.size()) - 1;
  }

  /// Adds an expression with its own line.
  int AppendStatement(Expr expr) {
    expr.bound_name = std::to_string(statements_++);
    body_.function.statements.push_back(Append(std::move(expr)));
    return body_.function.statements.back();
  }

  int AddLiteral(const std::string& spelling, DataType dtype) {
    Expr literal;
    literal.kind = ExprKind::kLiteral;
    literal.text = spelling;
    literal.comments = {TypeComment(TypeOf({{}, dtype}))};
    return Append(std::move(literal));
  }

  int AddConstant(int id) {
    const TensorType& type = graph_.node(id).type;
    const Tensor* contents = graph_.Contents(id);
    if (type.shape.empty() && contents != nullptr) {
      const std::string spelling = Literal(contents->At(0), type.dtype);
      if (!spelling.empty()) return AddLiteral(spelling, type.dtype);
    }
    Expr constant;
    constant.kind = ExprKind::kConstant;
    constant.text = "relay.Constant";
    constant.comments = {TypeComment(TypeOf(type))};
    const auto [known, is_new] = constants_.emplace(id, std::ssize(contents_));
    if (is_new) contents_.push_back(contents);
    constant.index = known->second;
    return Append(std::move(constant));
  }

  /// Records the name in the text of a value that has its own name or quantization parameters.
  void Remember(int id, const std::string& in_text) {
    QuantizationParams quantization_params;
    const auto known = graph_.quantization.find(graph_.node(id).name);
    if (known != graph_.quantization.end()) quantization_params = known->second;
    quantization_params.value = graph_.FloatName(id);
    if (quantization_params.value == in_text) quantization_params.value.clear();
    if (quantization_params != QuantizationParams())
      values_.emplace(in_text, std::move(quantization_params));
  }

  int AddParameter(int id) {
    const Node& node = graph_.node(id);
    std::string name = VariableName(node.name);
    while (!names_.insert(name).second) name += "_";
    Remember(id, name);
    return AppendParameter(std::move(name), node.type);
  }

  int AppendParameter(std::string name, const TensorType& type) {
    Expr parameter;
    parameter.kind = ExprKind::kParameter;
    parameter.text = std::move(name);
    parameter.type = TypeOf(type);
    if (typed_twice_) parameter.comments = {TypeComment(*parameter.type)};
    body_.function.parameters.push_back(Append(std::move(parameter)));
    return body_.function.parameters.back();
  }

  std::string NameOf(const Node& node) const {
    if (node.op.kind == OpKind::kIdentity) return std::string(RelayName(node.annotation.kind));
    const bool flat = IsBatchFlatten(node, graph_.node(node.inputs[0]).type);
    return flat ? "nn.batch_flatten" : std::string(RelayName(node.op.kind));
  }

  int AddCall(int id) {
    const Node& node = graph_.node(id);
    Expr call;
    call.text = NameOf(node);
    for (int input : node.inputs) call.args.push_back(ExprOf(input));
    if (node.op.kind == OpKind::kConcat) {
      Expr tuple;
      tuple.kind = ExprKind::kTuple;
      tuple.args = std::move(call.args);
      call.args = {Append(std::move(tuple))};
    }
    if (node.op.kind == OpKind::kPad) {  // the importer converts it
      const double value = node.op.attributes.pad_value;
      const bool whole = value == std::trunc(value) && std::abs(value) < 0x1.0p31;
      const DataType dtype = whole ? kInt32 : kFloat32;
      call.args.push_back(AddLiteral(Literal(node.op.attributes.pad_value, dtype), dtype));
    }
    call.attributes = WriteAttributes(graph_, node);
    if (!node.source.empty()) call.comments.push_back(" " + node.source + " ");
    std::vector<int> results = {id};
    if (node.op.kind == OpKind::kBatchNorm) {  // in Relay it also returns the new mean and variance
      results.insert(results.end(), {node.inputs[3], node.inputs[4]});
    }
    call.comments.push_back(TypeComment(TypeOfAll(results)));
    Remember(id, std::to_string(statements_));
    const int result = AppendStatement(std::move(call));
    return results.size() == 1 ? result : AppendStatement(Projection(result, 0, id));
  }

  void AddNode(int id) {
    const NodeKind kind = graph_.node(id).kind;
    ExprOf(id) = kind == NodeKind::kInput      ? AddParameter(id)
                 : kind == NodeKind::kConstant ? AddConstant(id)
                                               : AddCall(id);
  }

  /// Returns the type of one value, or a tuple type of several.
  Type TypeOfAll(const std::vector<int>& ids) const {
    Type tuple;
    tuple.kind = TypeKind::kTuple;
    for (int id : ids) tuple.parts.push_back(TypeOf(graph_.node(id).type));
    return ids.size() == 1 ? tuple.parts.front() : tuple;
  }

  void AddResult(const std::vector<int>& ids) {
    body_.function.result = TypeOfAll(ids);
    Expr tuple;
    tuple.kind = ExprKind::kTuple;
    for (int id : ids) tuple.args.push_back(ExprOf(id));
    body_.function.body = ids.size() == 1 ? tuple.args.front() : Append(std::move(tuple));
  }

  const Graph& graph_;
  const FunctionSplit& split_;
  bool typed_twice_ = false;
  Module module_;
  Body body_;
  int statements_ = 0;
  int parts_parameters_ = 0;
  std::set<std::string> names_;            // names of parameters
  std::map<int, std::int64_t> constants_;  // node -> index in contents_
  std::vector<const Tensor*> contents_;
  QuantizationMap values_;  // parameters and operators
};

}  // namespace
}  // namespace tilewright::relay

namespace tilewright {

Result<std::string> ExportRelay(const Graph& graph, const FunctionSplit& split) {
  return relay::Exporter(graph, split).Run();
}

Result<std::string> PrintRelay(const Graph& graph) { return relay::Exporter(graph, {}).List(); }

}  // namespace tilewright
