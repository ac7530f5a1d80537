// Writes Relay text like the printer of April 2021 and later.
//
// The printer walks the graph from the result in post-order (callee, then arguments left to right,
// each node once). It composes a node's text when the walk leaves the node. The node gets its
// number and its line when the first node that uses it is composed: add(f(g(x)), h(k(y))) gives the
// lines g, k, f, h, add. The body of a function is written when the walk reaches the function, with
// its own lines; one counter numbers the values of the whole module. Constants are numbered in the
// order of the walk, which differs from the order of the lines. There is no recursion along the
// graph, only from a function into the functions inside it (bounded by the parser).

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "src/graph/relay/syntax.h"

namespace tilewright::relay {
namespace {

class Printer {
 public:
  Printer(const Module& module, bool keep)
      : module_(module), keep_(keep), texts_(module.exprs.size()), names_(module.exprs.size()) {}
  std::string PrintModule();

 private:
  std::string Indent(int level) const {
    return std::string(static_cast<std::size_t>(level * module_.indent), ' ');
  }
  static std::string Comments(const std::vector<std::string>& comments);
  std::string TypeDefinitionText(const TypeDefinition& definition) const;
  std::string FunctionText(int id, int level);
  std::string KeptBody(const Function& function, int level);
  std::string WalkedBody(const Function& function, int level);
  std::string ParameterText(int id, const Function& function, std::size_t position);
  std::string BaseName(const Function& function, std::size_t position) const;
  std::string UniqueName(const std::string& base);
  std::string ExprText(int id, int level);
  std::string CallText(const Expr& call, int level);
  std::string TupleText(const Expr& tuple, int level);
  std::string Use(int id, int level);
  void Walk(int root, int level);

  const Module& module_;
  const bool keep_;
  std::vector<std::string> texts_;  // texts of visited nodes that are not written yet
  std::vector<std::string> names_;  // "%26" for nodes that have a line
  std::vector<bool> walked_ = std::vector<bool>(module_.exprs.size(), false);
  std::vector<std::string> lines_;  // lines of the current body
  int next_number_ = 0;
  std::map<std::string, int> name_counters_;
  std::map<std::string, std::int64_t> meta_counters_;
};

std::string Printer::Comments(const std::vector<std::string>& comments) {
  std::string text;
  for (const auto& comment : comments) text += " /*" + comment + "*/";
  return text;
}

std::string Printer::TypeDefinitionText(const TypeDefinition& definition) const {
  std::string text = "type " + definition.name;
  for (std::size_t i = 0; i < definition.variables.size(); ++i) {
    text += (i == 0 ? "[" : ", ") + definition.variables[i];
  }
  text += definition.variables.empty() ? " {\n" : "] {\n";
  for (const auto& constructor : definition.constructors) {
    text += Indent(1) + constructor.name;
    for (std::size_t i = 0; i < constructor.fields.size(); ++i) {
      text += (i == 0 ? "(" : ", ") + ToString(constructor.fields[i]);
    }
    text += constructor.fields.empty() ? ",\n" : "),\n";
  }
  return text + "}";
}

/// Returns the original name of a parameter. Parameters of fused functions are p0, p1, …; the
/// printer appends counters, as in %p0134. The names are restored if all parameters of a fused
/// function match.
std::string Printer::BaseName(const Function& function, std::size_t position) const {
  bool fused = false;
  for (const auto& attribute : function.attributes) {
    fused |= attribute.name == "Primitive" && attribute.value == "1";
  }
  for (std::size_t i = 0; fused && i < function.parameters.size(); ++i) {
    const std::string& name = module_.expr(function.parameters[i]).text;
    const std::string base = fmt::format("p{}", i);
    fused = name.starts_with(base) &&
            name.find_first_not_of("0123456789", base.size()) == std::string::npos;
  }
  return fused ? fmt::format("p{}", position) : module_.expr(function.parameters[position]).text;
}

std::string Printer::UniqueName(const std::string& base) {
  const bool letter = !base.empty() && (std::isalpha(static_cast<unsigned char>(base[0])) != 0);
  std::string name = letter ? base : "v" + base;
  if (auto used = name_counters_.find(name); used != name_counters_.end()) {
    std::string candidate;
    do {
      candidate = name + std::to_string(++used->second);
    } while (name_counters_.contains(candidate));
    name = candidate;
  }
  name_counters_.emplace(name, 0);
  return name;
}

std::string Printer::ParameterText(int id, const Function& function, std::size_t position) {
  const Expr& parameter = module_.expr(id);
  auto& name = names_[static_cast<std::size_t>(id)];
  name = "%" + (keep_ ? parameter.text : UniqueName(BaseName(function, position)));
  std::string text = name;
  if (!parameter.device.empty()) text += " {virtual_device=" + parameter.device + "}";
  if (parameter.type) text += ": " + ToString(*parameter.type);
  return text + Comments(parameter.comments);
}

/// Returns the text of a function from the "(" on.
std::string Printer::FunctionText(int id, int level) {
  const Function& function = module_.function(id);
  std::string text = "(";
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    text += (i == 0 ? "" : ", ") + ParameterText(function.parameters[i], function, i);
  }
  for (std::size_t i = 0; i < function.attributes.size(); ++i) {
    text += (i == 0 && function.parameters.empty() ? "" : ", ") + function.attributes[i].name +
            "=" + function.attributes[i].value;
  }
  text += ")";
  if (function.result) text += " -> " + ToString(*function.result);
  text += " {\n";
  text += keep_ ? KeptBody(function, level + 1) : WalkedBody(function, level + 1);
  if (function.body < 0) return text;
  return text + Indent(level) + "}" + Comments(function.comments);
}

std::string Printer::KeptBody(const Function& function, int level) {
  std::string text;
  for (int statement : function.statements) {
    names_[static_cast<std::size_t>(statement)] = "%" + module_.expr(statement).bound_name;
  }
  for (std::size_t i = 0; i < function.statements.size(); ++i) {
    const int statement = function.statements[i];
    const bool last = function.body < 0 && i + 1 == function.statements.size();
    text += Indent(level) + names_[static_cast<std::size_t>(statement)] + " = " +
            ExprText(statement, level) + (last && !module_.ends_in_newline ? ";" : ";\n");
  }
  if (function.body >= 0) text += Indent(level) + Use(function.body, level) + "\n";
  return text;
}

std::string Printer::WalkedBody(const Function& function, int level) {
  std::vector<std::string> outer;
  std::swap(outer, lines_);
  // In a truncated text only the last line can be the root.
  const int root = function.body >= 0 ? function.body : function.statements.back();
  Walk(root, level);
  const auto& name = names_[static_cast<std::size_t>(root)];
  lines_.push_back(name.empty() ? texts_[static_cast<std::size_t>(root)] : name);
  std::string text;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    text += Indent(level) + lines_[i] + (i + 1 == lines_.size() ? "\n" : ";\n");
  }
  std::swap(outer, lines_);
  return text;
}

/// Composes the texts of all expressions reachable from `root`, in post-order.
void Printer::Walk(int root, int level) {
  struct Visit {
    int id;
    std::size_t next_child;
  };
  std::vector<Visit> stack{{root, 0}};
  while (!stack.empty()) {
    Visit& visit = stack.back();
    const Expr& expr = module_.expr(visit.id);
    const std::size_t callees = expr.callee >= 0 ? 1 : 0;
    if (walked_[static_cast<std::size_t>(visit.id)]) {
      stack.pop_back();
    } else if (visit.next_child < callees + expr.args.size()) {
      const std::size_t child = visit.next_child++;
      stack.push_back({child < callees ? expr.callee : expr.args[child - callees], 0});
    } else {
      walked_[static_cast<std::size_t>(visit.id)] = true;
      std::string text = ExprText(visit.id, level);
      texts_[static_cast<std::size_t>(visit.id)] = std::move(text);
      stack.pop_back();
    }
  }
}

/// Returns the spelling of a node at its use.
std::string Printer::Use(int id, int level) {
  auto& name = names_[static_cast<std::size_t>(id)];
  if (!name.empty()) return name;
  if (keep_) return ExprText(id, level);
  auto& text = texts_[static_cast<std::size_t>(id)];
  const ExprKind kind = module_.expr(id).kind;
  if (kind == ExprKind::kLiteral || kind == ExprKind::kConstant || kind == ExprKind::kParameter ||
      kind == ExprKind::kGlobal) {
    return text;
  }
  name = fmt::format("%{}", next_number_++);
  lines_.push_back(name + " = " + text);
  text.clear();
  return name;
}

std::string Printer::CallText(const Expr& call, int level) {
  std::string arguments;
  for (int arg : call.args) arguments += (arguments.empty() ? "" : ", ") + Use(arg, level);
  for (const auto& attribute : call.attributes) {
    arguments += (arguments.empty() ? "" : ", ") + attribute.name + "=" + attribute.value;
  }
  return (call.callee >= 0 ? Use(call.callee, level) : call.text) + "(" + arguments + ")";
}

std::string Printer::TupleText(const Expr& tuple, int level) {
  std::string fields;
  for (int arg : tuple.args) fields += (fields.empty() ? "" : ", ") + Use(arg, level);
  return "(" + fields + (tuple.args.size() == 1 ? ",)" : ")");
}

std::string Printer::ExprText(int id, int level) {
  const Expr& expr = module_.expr(id);
  const std::string comments = Comments(expr.comments);
  switch (expr.kind) {
    case ExprKind::kCall:
      return CallText(expr, level) + comments;
    case ExprKind::kLiteral:
      return expr.text + comments;
    case ExprKind::kConstant: {
      const std::int64_t index = keep_ ? expr.index : meta_counters_[expr.text]++;
      return fmt::format("meta[{}][{}]", expr.text, index) + comments;
    }
    case ExprKind::kParameter:
      // A parameter whose function was not introduced yet: an outer function uses it.
      return "%" + expr.text;
    case ExprKind::kProjection:
      return Use(expr.args[0], level) + fmt::format(".{}", expr.index) + comments;
    case ExprKind::kTuple:
      return TupleText(expr, level) + comments;
    case ExprKind::kGlobal:
      return "@" + expr.text;
    case ExprKind::kFunction:
      return "fn " + FunctionText(expr.function, level);
  }
  return {};
}

std::string Printer::PrintModule() {
  std::string text;
  if (!module_.version.empty()) text += "#[version = \"" + module_.version + "\"]\n";
  bool first = true;
  const auto separate = [&] {
    if (!first) text += "\n\n";
    first = false;
  };
  for (const auto& definition : module_.types) {
    separate();
    text += TypeDefinitionText(definition);
  }
  for (const auto& definition : module_.definitions) {
    separate();
    text += definition.name.empty() ? "fn " : "def @" + definition.name;
    text += Comments(definition.comments);
    text += FunctionText(definition.function, 0);
  }
  if (!module_.metadata.empty()) return text + module_.metadata;
  const bool cut = module_.fragment && keep_;  // its last line already ends the text
  return module_.ends_in_newline && !cut ? text + "\n" : text;
}

}  // namespace

std::string Print(const Module& module, Numbering numbering) {
  const bool keep =
      numbering == Numbering::kKeep || (numbering == Numbering::kAutomatic && module.fragment);
  return Printer(module, keep).PrintModule();
}

}  // namespace tilewright::relay
