// Conversion of the syntax of a Relay text to a graph.
//
// Nodes appear in post-order from the result, arguments left to right: the order in which values
// become available. A function defined in the text is evaluated once per call with its parameters
// bound to the arguments, so fused functions are inlined. A node keeps the name of its value in the
// text ("%26"); the result of an inlined body gets that of the call ("%1077").
//
// A fragment has no result: every line is evaluated. The importer itself calls a last function that
// has no callers left. It binds the parameters to the latest value of the same type, or else to
// constants without contents named "%1100.1", "%1100.2", ….

#include "src/graph/relay/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/strings.h"
#include "src/graph/relay/attributes.h"
#include "src/graph/relay/operators.h"

namespace tilewright::relay {
namespace {

// Limit of nodes after inlining, which can grow exponentially; real networks stay far below.
constexpr int kMaxRelayNodes = 1 << 18;
constexpr int kMaxCalls = 1 << 20;  // bodies without operators add no nodes

bool IsInPlace(ExprKind kind) {
  return kind == ExprKind::kLiteral || kind == ExprKind::kConstant ||
         kind == ExprKind::kParameter || kind == ExprKind::kFunction || kind == ExprKind::kGlobal;
}

/// Returns the name of the source operator: a comment before the type, in texts before 2022.
std::string SourceOf(const Expr& call) {
  if (call.comments.empty()) return {};
  const std::string_view first = Trim(call.comments.front());
  return first.starts_with("ty=") || first.starts_with("span=") ? std::string()
                                                                : std::string(first);
}

/// Returns kInvalidArgument unless the type is that of one tensor of constant shape.
Result<TensorType> TensorTypeOf(const std::optional<Type>& type) {
  if (!type) return InvalidArgument("no type, expected one such as Tensor[(1, 64), int8]");
  if (type->kind != TypeKind::kTensor || std::ranges::count(type->dims, -1) != 0) {
    return InvalidArgument("type " + ToString(*type) + ", expected a tensor of constant shape");
  }
  TW_ASSIGN_OR_RETURN(auto dtype, ParseDataType(type->name));
  return TensorType{type->dims, dtype};
}

}  // namespace

Status Importer::At(std::size_t offset, const Status& status) const {
  return status.WithContext(PlaceOf(text_, offset));
}

Status Importer::Bad(std::size_t offset, std::string message) const {
  return At(offset, InvalidArgument(std::move(message)));
}

std::string Importer::Unique(const std::string& name) {
  if (names_.insert(name).second) return name;
  int& copies = copies_.try_emplace(name, 1).first->second;
  std::string unique;
  do {
    unique = fmt::format("{}#copy{}", name, ++copies);
  } while (!names_.insert(unique).second);
  return unique;
}

/// Returns the name of an intermediate value of the one called `of`.
std::string Importer::PartName(const std::string& of) {
  return Unique(fmt::format("{}#{}", of, parts_[of]++));
}

std::string Importer::NameOf(int id, const Scope& scope) const {
  const Expr& expr = module_.expr(id);
  if (!expr.bound_name.empty()) return "%" + expr.bound_name;
  return id == scope.result ? scope.result_name : "%unnamed";
}

Status Importer::CheckType(std::size_t offset, const Value& value, const Type& type,
                           std::string_view what) const {
  if (value.function >= 0) return Status();
  Type actual;
  if (value.is_tuple) {
    actual.kind = TypeKind::kTuple;
    for (std::size_t i = 0; i < value.nodes.size(); ++i) {
      const bool given = type.kind == TypeKind::kTuple && i < type.parts.size();
      actual.parts.push_back(value.nodes[i] >= 0 ? TypeOf(graph_.node(value.nodes[i]).type)
                             : given             ? type.parts[i]
                                                 : Type());
    }
  } else {
    actual = TypeOf(graph_.node(value.nodes[0]).type);
  }
  if (actual == type) return Status();
  return Bad(offset, fmt::format("{} has type {}, but the text declares {}", what, ToString(actual),
                                 ToString(type)));
}

/// Returns the instance of the function whose body contains an expression, as seen from `scope`.
Importer::Scope* Importer::ScopeOf(int id, Scope* scope) const {
  const int owner = module_.expr(id).owner;
  while (scope != nullptr && scope->function != owner) scope = scope->outer;
  return scope;
}

const Importer::Value* Importer::Find(int id, const Scope& scope) const {
  for (const Scope* s = &scope; s != nullptr; s = s->outer) {
    if (auto found = s->values.find(id); found != s->values.end()) return &found->second;
  }
  return nullptr;
}

Result<Importer::Value> Importer::EvaluateLiteral(int id) {
  const Expr& literal = module_.expr(id);
  auto tensor = ParseLiteral(literal.text);
  if (!tensor.ok()) return At(literal.offset, tensor.status());
  if (literal.type && TypeOf(tensor->type()) != *literal.type) {
    return Bad(literal.offset,
               fmt::format("literal {} of type {} has the comment ty={}", literal.text,
                           ToString(TypeOf(tensor->type())), ToString(*literal.type)));
  }
  return Value{{graph_.AddConstant(PartName("literal." + literal.text), *std::move(tensor))}};
}

Result<Importer::Value> Importer::EvaluateConstant(int id) {
  if (auto known = constants_.find(id); known != constants_.end()) return Value{{known->second}};
  const Expr& constant = module_.expr(id);
  auto type = TensorTypeOf(constant.type);
  if (!type.ok()) return At(constant.offset, type.status().WithContext("constant"));
  if (Status status = CheckTensorType(*type); !status.ok()) return At(constant.offset, status);
  const std::string name = Unique(fmt::format("{}.{}", constant.text, constant.index));
  const auto contents = contents_.find(constant.index);
  const bool given = constant.text == "relay.Constant" && contents != contents_.end();
  if (given && contents->second.type() != *type) {
    return Bad(constant.offset,
               fmt::format("constant {} is {}, but its contents are {}", constant.index,
                           type->ToString(), contents->second.type().ToString()));
  }
  const int node = given ? graph_.AddConstant(name, contents->second.Clone())
                         : graph_.AddConstant(name, *std::move(type));
  constants_[id] = node;
  return Value{{node}};
}

Result<Importer::Value> Importer::EvaluateProjection(int id, const Scope& scope) {
  const Expr& projection = module_.expr(id);
  const Value* tuple = Find(projection.args[0], scope);
  const auto field = static_cast<std::size_t>(projection.index);
  if (!tuple->is_tuple || projection.index < 0 || field >= tuple->nodes.size()) {
    return Bad(projection.offset,
               fmt::format("field {} of a value that is not a tuple or has fewer fields",
                           projection.index));
  }
  if (tuple->nodes[field] < 0) {
    return At(projection.offset, Unsupported("only field 0 of nn.batch_norm is supported"));
  }
  return Value{{tuple->nodes[field]}};
}

Result<std::vector<int>> Importer::FlatArguments(int id, const Scope& scope) {
  std::vector<int> nodes;
  for (int arg : module_.expr(id).args) {
    const Value* value = Find(arg, scope);
    if (value->function >= 0) return Bad(module_.expr(arg).offset, "a function, expected a tensor");
    for (int node : value->nodes) {
      if (node < 0) {
        return At(module_.expr(id).offset, Unsupported("use of the whole result of nn.batch_norm"));
      }
      nodes.push_back(node);
    }
  }
  return nodes;
}

Result<Importer::Value> Importer::EvaluateTuple(int id, const Scope& scope) {
  for (int arg : module_.expr(id).args) {
    if (Find(arg, scope)->is_tuple) {
      return At(module_.expr(id).offset, Unsupported("a tuple inside a tuple"));
    }
  }
  TW_ASSIGN_OR_RETURN(auto nodes, FlatArguments(id, scope));
  return Value{std::move(nodes), true};
}

Result<Importer::Value> Importer::EvaluateOperator(int id, const Scope& scope) {
  const Expr& call = module_.expr(id);
  TW_ASSIGN_OR_RETURN(auto inputs, FlatArguments(id, scope));
  std::vector<Argument> arguments;
  for (int input : inputs) {
    Argument argument{graph_.node(input).type, std::nullopt};
    if (argument.type.shape.empty()) {
      const Tensor* contents = graph_.Contents(input);
      const bool wide = argument.type.dtype.is_integer() && argument.type.dtype.bits == 64;
      // Excludes integers that no double represents: a scalar would have a different value.
      if (contents != nullptr && (!wide || std::abs(contents->At(0)) < 0x1p53)) {
        argument.scalar = contents->At(0);
      }
    }
    arguments.push_back(std::move(argument));
  }
  auto translation = Translate(call, arguments);
  if (!translation.ok()) return At(call.offset, translation.status());
  inputs.resize(translation->operands);
  const std::string name = NameOf(id, scope);
  if (!translation->reshape_last.empty()) {
    Operator reshape{OpKind::kReshape, {}};
    reshape.attributes.new_shape = translation->reshape_last;
    auto reshaped = graph_.AddOperator(PartName(name), std::move(reshape), {inputs.back()});
    if (!reshaped.ok()) return At(call.offset, reshaped.status());
    inputs.back() = *reshaped;
  }
  auto node = graph_.AddOperator(Unique(name), std::move(translation->op), std::move(inputs));
  if (!node.ok()) return At(call.offset, node.status());
  graph_.Annotate(*node, SourceOf(call), std::move(translation->annotation));
  if (call.text == "nn.batch_norm") return Value{{*node, -1, -1}, true};
  return Value{{*node}};
}

Result<Importer::Value> Importer::Inline(int id, int function_id, Scope* closure,
                                         std::vector<Value> arguments, std::string result_name) {
  const Function& function = module_.function(function_id);
  const std::size_t offset = module_.expr(id).offset;
  if (++calls_ > kMaxCalls) return Bad(offset, fmt::format("more than {} calls", kMaxCalls));
  if (call_depth_ == kMaxNesting) {
    return Bad(offset, fmt::format("calls deeper than {} levels", kMaxNesting));
  }
  if (arguments.size() != function.parameters.size()) {
    return Bad(offset, fmt::format("call with {} arguments, expected {}", arguments.size(),
                                   function.parameters.size()));
  }
  Scope& scope = scopes_.emplace_back();
  scope.function = function_id;
  scope.outer = closure;
  scope.result = function.body;
  scope.result_name = std::move(result_name);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Expr& parameter = module_.expr(function.parameters[i]);
    if (arguments[i].function >= 0) return Bad(offset, "a function, expected a tensor");
    if (parameter.type) {
      TW_RETURN_IF_ERROR(CheckType(offset, arguments[i], *parameter.type,
                                   fmt::format("argument {} of the call", i)));
    }
    scope.values.emplace(function.parameters[i], std::move(arguments[i]));
  }
  ++call_depth_;
  auto result = Evaluate(function.body, &scope);
  --call_depth_;
  TW_RETURN_IF_ERROR(result);
  if (function.result) {
    TW_RETURN_IF_ERROR(CheckType(module_.expr(function.body).offset, *result, *function.result,
                                 "the body of the function"));
  }
  scopes_.pop_back();  // no outer value refers to it
  return result;
}

Result<Importer::Value> Importer::EvaluateCall(int id, Scope* scope) {
  const Expr& call = module_.expr(id);
  if (call.callee < 0) return EvaluateOperator(id, *scope);
  const Expr& callee = module_.expr(call.callee);
  std::vector<Value> arguments;
  for (int arg : call.args) arguments.push_back(*Find(arg, *scope));
  if (callee.kind == ExprKind::kGlobal) {
    const auto found = std::ranges::find(module_.definitions, callee.text, &Definition::name);
    if (found == module_.definitions.end()) {
      return Bad(call.offset, fmt::format("@{} is not defined in this text", callee.text));
    }
    if (module_.function(found->function).body < 0) {
      return Bad(call.offset, fmt::format("the text ends inside @{}", callee.text));
    }
    return Inline(id, found->function, nullptr, std::move(arguments), NameOf(id, *scope));
  }
  if (callee.kind != ExprKind::kFunction) {
    return Bad(call.offset, "call of a value that is not a function defined in this text");
  }
  Scope* closure = ScopeOf(call.callee, scope);
  if (closure == nullptr) return Bad(call.offset, "call of a function from outside its body");
  return Inline(id, callee.function, closure, std::move(arguments), NameOf(id, *scope));
}

Result<Importer::Value> Importer::EvaluateOne(int id, Scope* scope) {
  if (graph_.size() > kMaxRelayNodes) {
    return Bad(module_.expr(id).offset, fmt::format("more than {} values", kMaxRelayNodes));
  }
  switch (module_.expr(id).kind) {
    case ExprKind::kCall:
      return EvaluateCall(id, scope);
    case ExprKind::kLiteral:
      return EvaluateLiteral(id);
    case ExprKind::kConstant:
      return EvaluateConstant(id);
    case ExprKind::kParameter:
      return Bad(module_.expr(id).offset, "parameter used outside its function");
    case ExprKind::kProjection:
      return EvaluateProjection(id, *scope);
    case ExprKind::kTuple:
      return EvaluateTuple(id, *scope);
    case ExprKind::kFunction:
      return Value{{}, false, module_.expr(id).function};
    case ExprKind::kGlobal:
      break;
  }
  return Internal("no such expression");
}

/// Evaluates all expressions reachable from `root` that have no value yet, in post-order. Recursion
/// occurs only from a call into its function.
Result<Importer::Value> Importer::Evaluate(int root, Scope* scope) {
  struct Visit {
    int id;
    Scope* scope;
    std::size_t next_child;
  };
  std::vector<Visit> stack{{root, scope, 0}};
  while (!stack.empty()) {
    Visit& visit = stack.back();
    const Expr& expr = module_.expr(visit.id);
    if (Find(visit.id, *visit.scope) != nullptr) {
      stack.pop_back();
      continue;
    }
    if (visit.next_child < expr.args.size()) {
      const int child = expr.args[visit.next_child++];
      // Several functions may share in-place expressions; these are evaluated at their use.
      const bool here = IsInPlace(module_.expr(child).kind);
      Scope* child_scope = here ? visit.scope : ScopeOf(child, visit.scope);
      if (child_scope == nullptr) return Bad(expr.offset, "use of a value of another function");
      stack.push_back({child, child_scope, 0});
      continue;
    }
    TW_ASSIGN_OR_RETURN(auto value, EvaluateOne(visit.id, visit.scope));
    if (expr.type && expr.kind != ExprKind::kLiteral) {
      const std::string_view what = expr.kind == ExprKind::kCall && expr.callee < 0
                                        ? std::string_view(expr.text)
                                        : std::string_view("the value");
      TW_RETURN_IF_ERROR(CheckType(expr.offset, value, *expr.type, what));
    }
    visit.scope->values.insert_or_assign(visit.id, std::move(value));
    stack.pop_back();
  }
  return *Find(root, *scope);
}

Status Importer::CheckOperators() const {
  std::map<std::string, int> unknown;
  std::size_t offset = 0;
  for (const Expr& expr : module_.exprs) {
    if (expr.kind != ExprKind::kCall || expr.callee >= 0 || IsKnownOperator(expr.text)) continue;
    if (unknown.empty()) offset = expr.offset;
    ++unknown[expr.text];
  }
  if (unknown.empty()) return Status();
  std::string list;
  for (const auto& [name, count] : unknown) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, count);
  }
  return Unsupported(
      fmt::format("unsupported operators: {}; the first at {}", list, PlaceOf(text_, offset)));
}

int Importer::EntryFunction() const {
  for (const Definition& definition : module_.definitions) {
    if (definition.name == "main") return definition.function;
  }
  return module_.definitions.front().function;
}

Status Importer::AddParameters(int function, Scope* scope) {
  for (int parameter : module_.function(function).parameters) {
    const Expr& expr = module_.expr(parameter);
    auto type = TensorTypeOf(expr.type);
    if (!type.ok()) return At(expr.offset, type.status().WithContext("parameter %" + expr.text));
    if (Status status = CheckTensorType(*type); !status.ok()) return At(expr.offset, status);
    const int node = graph_.AddInput(Unique(expr.text), *std::move(type));
    scope->values.emplace(parameter, Value{{node}});
  }
  return Status();
}

void Importer::SetStyle(int entry) {
  for (const Definition& definition : module_.definitions) {
    if (definition.function == entry) graph_.style.notes = definition.comments;
  }
  const std::vector<int>& parameters = module_.function(entry).parameters;
  graph_.style.parameters_typed_twice =
      parameters.empty() || !module_.expr(parameters.front()).comments.empty();
  graph_.style.ends_in_newline = module_.ends_in_newline;
}

/// Calls the function at the end of a fragment.
Status Importer::CallLastFunction(int id, Scope* scope) {
  const Expr& expr = module_.expr(id);
  const Function& function = module_.function(expr.function);
  std::vector<Value> arguments;
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const Expr& parameter = module_.expr(function.parameters[i]);
    auto type = TensorTypeOf(parameter.type);
    if (!type.ok()) return At(parameter.offset, type.status());
    if (Status status = CheckTensorType(*type); !status.ok()) return At(parameter.offset, status);
    int node = -1;
    for (const auto& [id_of_value, value] : scope->values) {
      const bool line = !module_.expr(id_of_value).bound_name.empty();
      if (line && value.nodes.size() == 1 && graph_.node(value.nodes[0]).type == *type) {
        node = std::max(node, value.nodes[0]);
      }
    }
    if (node < 0) {
      const std::string name = fmt::format("%{}.{}", expr.bound_name, i);
      node = graph_.AddConstant(Unique(name), *std::move(type));
    }
    arguments.push_back(Value{{node}});
  }
  TW_ASSIGN_OR_RETURN(auto result, Inline(id, expr.function, scope, std::move(arguments),
                                          fmt::format("%{}(...)", expr.bound_name)));
  graph_.SetOutputs(result.nodes);
  return Status();
}

Status Importer::RunFragment(const Function& function, Scope* scope) {
  Value last;
  for (int statement : function.statements) {
    TW_ASSIGN_OR_RETURN(last, Evaluate(statement, scope));
  }
  if (last.function >= 0) return CallLastFunction(function.statements.back(), scope);
  std::erase(last.nodes, -1);
  graph_.SetOutputs(last.nodes);
  return Status();
}

Result<Graph> Importer::Run(std::string name) {
  TW_RETURN_IF_ERROR(CheckOperators());
  TW_ASSIGN_OR_RETURN(auto metadata, ReadMetadata(module_.metadata));
  contents_ = std::move(metadata.constants);
  graph_.synthetic_constants = metadata.synthetic_constants;
  graph_.name = std::move(name);
  const int entry = EntryFunction();
  const Function& function = module_.function(entry);
  Scope& scope = scopes_.emplace_back();
  scope.function = entry;
  scope.result = function.body;
  scope.result_name = "%result";
  TW_RETURN_IF_ERROR(AddParameters(entry, &scope));
  SetStyle(entry);
  if (function.body < 0) {
    TW_RETURN_IF_ERROR(RunFragment(function, &scope));
    return std::move(graph_);
  }
  TW_ASSIGN_OR_RETURN(auto result, Evaluate(function.body, &scope));
  const std::size_t offset = module_.expr(function.body).offset;
  if (result.function >= 0) return Bad(offset, "the result is a function, expected a tensor");
  if (std::ranges::count(result.nodes, -1) != 0) {
    return At(offset, Unsupported("the result is the whole result of nn.batch_norm"));
  }
  if (function.result) {
    TW_RETURN_IF_ERROR(CheckType(offset, result, *function.result, "the result"));
  }
  graph_.SetOutputs(result.nodes);
  TW_RETURN_IF_ERROR(AddQuantizationMap(std::move(metadata.values)));
  return std::move(graph_);
}

Status Importer::AddQuantizationMap(QuantizationMap values) {
  for (const Node& node : graph_.nodes()) {
    const bool numbered = node.kind == NodeKind::kOperator && node.name.starts_with("%");
    const auto row = values.find(numbered ? std::string_view(node.name).substr(1) : node.name);
    if (row == values.end() || node.kind == NodeKind::kConstant) continue;
    const QuantizationParams& quantization_params = row->second;
    const std::size_t count = quantization_params.scales.size();
    const bool along = count > 1 && quantization_params.axis >= 0 &&
                       quantization_params.axis < std::ssize(node.type.shape) &&
                       node.type.shape[static_cast<std::size_t>(quantization_params.axis)] ==
                           std::ssize(quantization_params.scales);
    if (count > 1 && !along) {
      return InvalidArgument(
          fmt::format("metadata: value {} of type {} has {} scales along dimension {}", row->first,
                      node.type.ToString(), count, quantization_params.axis));
    }
    graph_.quantization.emplace(node.name, std::move(row->second));
  }
  return Status();
}

}  // namespace tilewright::relay

namespace tilewright {

Result<Graph> ImportRelay(std::string_view text, std::string name) {
  TW_ASSIGN_OR_RETURN(auto module, relay::Parse(text));
  return relay::Importer(module, text).Run(std::move(name));
}

}  // namespace tilewright
