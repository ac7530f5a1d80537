// Loop programs as JSON (docs/c-abi.md): buffers, statements and expressions, with names that are C
// identifiers.

#include "src/ir/program_json.h"

#include <cctype>
#include <cmath>
#include <set>
#include <string>
#include <unordered_map>

#include "src/base/json.h"
#include "src/ir/print.h"

namespace tilewright {
namespace {

/// Names that C or its <math.h> uses, for which a loop variable or buffer gets a number.
constexpr const char* kTakenNames[] = {
    "auto",   "break",    "case",   "char",   "const",    "continue", "default",  "do",
    "double", "else",     "enum",   "extern", "float",    "for",      "goto",     "if",
    "inline", "int",      "long",   "main",   "register", "restrict", "return",   "short",
    "signed", "sizeof",   "static", "struct", "switch",   "typedef",  "union",    "unsigned",
    "void",   "volatile", "while",  "bool",   "true",     "false",    "abs",      "acos",
    "asin",   "atan",     "ceil",   "cos",    "cosh",     "erf",      "exp",      "expm1",
    "floor",  "fma",      "log",    "log1p",  "max",      "min",      "pow",      "rint",
    "round",  "sin",      "sinh",   "sqrt",   "tan",      "tanh",     "softplus", "sigmoid",
};

/// Unique C identifiers of the nodes of one program.
class UniqueNames {
 public:
  UniqueNames() : taken_(std::begin(kTakenNames), std::end(kTakenNames)) {}

  const std::string& Of(const void* node, const std::string& wanted) {
    std::string& name = names_[node];
    if (!name.empty()) return name;
    std::string base;
    for (const char c : wanted) {
      base += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    }
    if (base.empty() || std::isalpha(static_cast<unsigned char>(base[0])) == 0) base.insert(0, "v");
    name = base;
    for (int next = 2; !taken_.insert(name).second; ++next) {
      name = base + "_" + std::to_string(next);
    }
    return name;
  }

 private:
  std::set<std::string> taken_;
  std::unordered_map<const void*, std::string> names_;
};

std::string_view OperationName(ExprKind kind) {
  switch (kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
      return "const";
    case ExprKind::kVar:
      return "var";
    case ExprKind::kCast:
      return "cast";
    case ExprKind::kAdd:
      return "add";
    case ExprKind::kSub:
      return "sub";
    case ExprKind::kMul:
      return "mul";
    case ExprKind::kDiv:
      return "div";
    case ExprKind::kFloorDiv:
      return "floordiv";
    case ExprKind::kFloorMod:
      return "floormod";
    case ExprKind::kMin:
      return "min";
    case ExprKind::kMax:
      return "max";
    case ExprKind::kEq:
      return "eq";
    case ExprKind::kNe:
      return "ne";
    case ExprKind::kLt:
      return "lt";
    case ExprKind::kLe:
      return "le";
    case ExprKind::kAnd:
      return "and";
    case ExprKind::kOr:
      return "or";
    case ExprKind::kNot:
      return "not";
    case ExprKind::kShiftLeft:
      return "shift_left";
    case ExprKind::kShiftRight:
      return "shift_right";
    case ExprKind::kSelect:
      return "select";
    case ExprKind::kLoad:
      return "load";
    case ExprKind::kCall:
      return "call";
  }
  return "";
}

Json FloatJson(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

class ProgramWriter {
 public:
  Json Write(const Program& program) {
    Json out = {{"name", program.name}, {"inputs", Json::array()}, {"outputs", Json::array()}};
    const std::size_t inputs =
        program.parameters.size() - static_cast<std::size_t>(program.output_count);
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      out[i < inputs ? "inputs" : "outputs"].push_back(NameOf(program.parameters[i]));
    }
    Json body = Body(program.body);
    out["buffers"] = std::move(buffers_);
    out["body"] = std::move(body);
    return out;
  }

 private:
  /// Describes the buffer at its first use.
  const std::string& NameOf(const Buffer& buffer) {
    const std::string& name = names_.Of(buffer.get(), buffer->name);
    if (listed_.insert(buffer.get()).second) {
      buffers_[name] = {{"dtype", DataTypeName(buffer->dtype)},
                        {"shape", buffer->shape},
                        {"elements", buffer->elements()},
                        {"scope", ScopeName(buffer->scope)}};
    }
    return name;
  }

  Json Expression(const Expr& expr) {
    const ExprNode& node = *expr;
    if (node.kind == ExprKind::kVar) return names_.Of(expr.get(), node.name);
    if (node.kind == ExprKind::kInt && node.dtype == kInt64) return node.int_value;
    Json out = {{"op", OperationName(node.kind)}, {"dtype", DataTypeName(node.dtype)}};
    if (node.kind == ExprKind::kInt) {
      out["value"] = node.int_value;
    } else if (node.kind == ExprKind::kFloat) {
      out["value"] = FloatJson(node.float_value);
    } else if (node.kind == ExprKind::kLoad) {
      out["buffer"] = NameOf(node.buffer);
      out["indices"] = List(node.args);
    } else {
      if (node.kind == ExprKind::kCall) out["function"] = node.name;
      out["args"] = List(node.args);
    }
    return out;
  }

  Json List(const std::vector<Expr>& expressions) {
    Json list = Json::array();
    for (const Expr& one : expressions) list.push_back(Expression(one));
    return list;
  }

  Json RegionJson(const Region& region) {
    return {
        {"buffer", NameOf(region.buffer)}, {"min", List(region.min)}, {"extent", region.extent}};
  }

  Json Body(const Stmt& stmt) {
    Json list = Json::array();
    Append(stmt, list);
    return list;
  }

  /// Appends a statement; of a block its statements.
  void Append(const Stmt& stmt, Json& list) {
    if (stmt->kind != StmtKind::kBlock) {
      list.push_back(Statement(*stmt));
      return;
    }
    for (const Stmt& part : stmt->body) Append(part, list);
  }

  Json Statement(const StmtNode& node) {
    Json out = Json::object();
    switch (node.kind) {
      case StmtKind::kBlock:
        break;  // see Append
      case StmtKind::kFor:
        out = {{"stmt", "for"},
               {"var", names_.Of(node.var.get(), node.var->name)},
               {"extent", node.extent},
               {"kind", LoopKindName(node.loop)}};
        break;
      case StmtKind::kIf:
        out = {{"stmt", "if"}, {"condition", Expression(node.condition)}};
        out["then"] = Body(node.body[0]);
        out["else"] = node.body.size() > 1 ? Body(node.body[1]) : Json::array();
        break;
      case StmtKind::kAllocate:
        out = {{"stmt", "allocate"}, {"buffer", NameOf(node.buffer)}};
        break;
      case StmtKind::kStore:
        out = {{"stmt", "store"}, {"buffer", NameOf(node.buffer)}, {"indices", List(node.indices)}};
        out["value"] = Expression(node.value);
        break;
      case StmtKind::kPrefetch:
        out = {
            {"stmt", "prefetch"}, {"buffer", NameOf(node.buffer)}, {"indices", List(node.indices)}};
        break;
      case StmtKind::kBarrier:
        out = {{"stmt", "barrier"}, {"engines", node.name}};
        break;
      case StmtKind::kCopy:
      case StmtKind::kIntrinsic:
      case StmtKind::kLibraryCall:
        out = CallJson(node);
        break;
    }
    if (!node.attributes.empty()) out["attributes"] = node.attributes;
    if (node.kind == StmtKind::kFor || node.kind == StmtKind::kAllocate) {
      out["body"] = Body(node.body[0]);
    }
    return out;
  }

  Json CallJson(const StmtNode& node) {
    Json out;
    if (node.kind == StmtKind::kCopy) {
      out["stmt"] = "copy";
    } else if (node.kind == StmtKind::kIntrinsic) {
      out = {{"stmt", "intrinsic"}, {"name", node.name}};
    } else {
      out = {{"stmt", "library_call"},
             {"library", node.library->file},
             {"operation", node.library->operation}};
    }
    out["regions"] = Json::array();
    for (const Region& region : node.regions) out["regions"].push_back(RegionJson(region));
    if (node.value) out["padding"] = Expression(node.value);
    if (node.condition) out["condition"] = Expression(node.condition);
    return out;
  }

  UniqueNames names_;
  std::set<const BufferNode*> listed_;
  Json buffers_ = Json::object();
};

}  // namespace

nlohmann::ordered_json ProgramJson(const Program& program) {
  return ProgramWriter().Write(program);
}

std::string_view LoopKindName(LoopKind kind) {
  if (kind == LoopKind::kSerial) return "serial";
  return LoopSuffix(kind).substr(1);
}

}  // namespace tilewright
