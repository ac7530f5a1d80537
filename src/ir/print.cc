#include "src/ir/print.h"
#include "src/ir/open_loop.h"

// Pseudo-code of expressions and statements. Golden tests compare it: change it with care.

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "src/base/strings.h"
#include "src/ir/expr.h"
#include "src/ir/stmt.h"

namespace tilewright {
namespace {

/// Returns the operator precedence as in C; a higher number binds tighter.
int Precedence(ExprKind kind) {
  switch (kind) {
    case ExprKind::kOr:
      return 1;
    case ExprKind::kAnd:
      return 2;
    case ExprKind::kEq:
    case ExprKind::kNe:
      return 3;
    case ExprKind::kLt:
    case ExprKind::kLe:
      return 4;
    case ExprKind::kShiftLeft:
    case ExprKind::kShiftRight:
      return 5;
    case ExprKind::kAdd:
    case ExprKind::kSub:
      return 6;
    case ExprKind::kMul:
    case ExprKind::kDiv:
      return 7;
    default:
      return 9;
  }
}

/// Returns the operator text between two operands; empty for operators printed as a function.
std::string_view Symbol(const ExprNode& node) {
  switch (node.kind) {
    case ExprKind::kAdd:
      return " + ";
    case ExprKind::kSub:
      return " - ";
    case ExprKind::kMul:
      return node.dtype == kInt64 ? "*" : " * ";
    case ExprKind::kDiv:
      return " / ";
    case ExprKind::kEq:
      return " == ";
    case ExprKind::kNe:
      return " != ";
    case ExprKind::kLt:
      return " < ";
    case ExprKind::kLe:
      return " <= ";
    case ExprKind::kAnd:
      return " && ";
    case ExprKind::kOr:
      return " || ";
    case ExprKind::kShiftLeft:
      return " << ";
    case ExprKind::kShiftRight:
      return " >> ";
    default:
      return {};
  }
}

std::string_view FunctionName(const ExprNode& node) {
  switch (node.kind) {
    case ExprKind::kFloorDiv:
      return "floordiv";
    case ExprKind::kFloorMod:
      return "floormod";
    case ExprKind::kMin:
      return "min";
    case ExprKind::kMax:
      return "max";
    case ExprKind::kSelect:
      return "select";
    default:
      return node.name;
  }
}

void Print(const Expr& expr, int outer, std::string* out);

void PrintList(const std::vector<Expr>& list, std::string* out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) *out += ", ";
    Print(list[i], 0, out);
  }
}

void PrintFloat(const ExprNode& node, std::string* out) {
  std::string text = ShortestDouble(node.float_value);
  if (std::isfinite(node.float_value)) {
    // The shortest text of the float, not of the double that stores it.
    if (node.dtype.bits == 32) {
      for (int digits = 1; digits <= 9; ++digits) {
        char buffer[40];
        std::snprintf(buffer, sizeof buffer, "%.*g", digits, node.float_value);
        if (std::strtof(buffer, nullptr) == static_cast<float>(node.float_value)) {
          text = buffer;
          break;
        }
      }
    }
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    if (node.dtype.bits == 32) text += "f";
    if (node.dtype.bits == 16) text += "h";
  }
  *out += text;
}

void PrintInt(const ExprNode& node, std::string* out) {
  if (node.dtype.is_bool()) {
    *out += node.int_value != 0 ? "true" : "false";
  } else if (node.dtype == kInt64 || node.dtype == kInt32) {
    *out += std::to_string(node.int_value);
  } else {
    *out += DataTypeName(node.dtype) + "(" + std::to_string(node.int_value) + ")";
  }
}

void PrintBinary(const ExprNode& node, int outer, std::string* out) {
  const int own = Precedence(node.kind);
  std::string_view symbol = Symbol(node);
  if (own < outer) *out += "(";
  Print(node.args[0], own, out);
  std::int64_t value = 0;
  const bool index = node.dtype == kInt64;
  if (index && node.kind == ExprKind::kAdd && node.args[1].IsInt(&value) && value < 0) {
    *out += " - " + std::to_string(value).substr(1);
  } else {
    *out += symbol;
    // Parenthesizes a right operand of equal precedence if the grouping could matter.
    const bool apart = !(index && node.kind == ExprKind::kAdd) && node.kind != ExprKind::kAnd &&
                       node.kind != ExprKind::kOr;
    Print(node.args[1], apart ? own + 1 : own, out);
  }
  if (own < outer) *out += ")";
}

void Print(const Expr& expr, int outer, std::string* out) {
  if (!expr) {
    *out += "<none>";
    return;
  }
  const ExprNode& node = *expr;
  switch (node.kind) {
    case ExprKind::kInt:
      PrintInt(node, out);
      return;
    case ExprKind::kFloat:
      PrintFloat(node, out);
      return;
    case ExprKind::kVar:
      *out += node.name;
      return;
    case ExprKind::kCast:
      *out += DataTypeName(node.dtype) + "(";
      Print(node.args[0], 0, out);
      *out += ")";
      return;
    case ExprKind::kNot:
      *out += "!";
      Print(node.args[0], 8, out);
      return;
    case ExprKind::kLoad:
      *out += node.buffer->name + "[";
      PrintList(node.args, out);
      *out += "]";
      return;
    default:
      break;
  }
  if (!Symbol(node).empty()) {
    PrintBinary(node, outer, out);
    return;
  }
  *out += FunctionName(node);
  *out += "(";
  PrintList(node.args, out);
  *out += ")";
}

std::string TypeText(const BufferNode& buffer) {
  std::string out = DataTypeName(buffer.dtype) + "[";
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(buffer.shape[i]);
  }
  return out + (buffer.narrow ? "] narrow" : "]");
}

void PrintAttributes(const StmtNode& node, std::string* out) {
  for (const auto& [name, value] : node.attributes) {
    *out += " " + name + "=" + std::to_string(value);
  }
}

/// Prints "A[i*4 :: 4, k]": first index and extent of each dimension. Omits an extent of 1.
void PrintRegion(const Region& region, std::string* out) {
  *out += region.buffer->name + "[";
  for (std::size_t i = 0; i < region.min.size(); ++i) {
    if (i > 0) *out += ", ";
    Print(region.min[i], 0, out);
    if (region.extent[i] != 1) *out += " :: " + std::to_string(region.extent[i]);
  }
  *out += "]";
}

void PrintStmt(const Stmt& stmt, int depth, std::string* out);

/// Prints the body of a loop or condition, one level deeper; an empty body is "pass".
void PrintNested(const Stmt& stmt, int depth, std::string* out) {
  const std::size_t before = out->size();
  PrintStmt(stmt, depth + 1, out);
  if (out->size() == before) {
    out->append(static_cast<std::size_t>(depth + 1) * 2, ' ');
    *out += "pass\n";
  }
}

void PrintCall(const StmtNode& node, std::string* out) {
  *out += node.kind == StmtKind::kCopy ? "copy" : node.name;
  *out += "(";
  for (std::size_t i = 0; i < node.regions.size(); ++i) {
    if (i > 0) *out += ", ";
    PrintRegion(node.regions[i], out);
  }
  if (node.kind == StmtKind::kCopy && node.value) {
    *out += ", padding=";
    Print(node.value, 0, out);
  }
  if (node.condition) {
    *out += ", if ";
    Print(node.condition, 0, out);
  }
  *out += ")";
}

void PrintStmt(const Stmt& stmt, int depth, std::string* out) {
  const StmtNode& node = *stmt;
  if (node.kind == StmtKind::kBlock) {
    for (const Stmt& part : node.body) PrintStmt(part, depth, out);
    return;
  }
  out->append(static_cast<std::size_t>(depth) * 2, ' ');
  switch (node.kind) {
    case StmtKind::kBlock:
      break;
    case StmtKind::kFor:
      if (IsLet(node)) {
        *out += "let " + node.var->name + " = ";
        Print(node.indices[0], 0, out);
        *out += ", below " + std::to_string(node.extent) + ":\n";
        PrintNested(node.body[0], depth, out);
        return;
      }
      *out += "for " + node.var->name + " in 0..";
      if (node.value) {
        Print(node.value, 0, out);
        *out += ", at most ";
      }
      *out += std::to_string(node.extent);
      *out += LoopSuffix(node.loop);
      PrintAttributes(node, out);
      *out += ":\n";
      PrintNested(node.body[0], depth, out);
      return;
    case StmtKind::kIf:
      *out += "if ";
      Print(node.condition, 0, out);
      *out += ":\n";
      PrintNested(node.body[0], depth, out);
      if (node.body.size() > 1) {
        out->append(static_cast<std::size_t>(depth) * 2, ' ');
        *out += "else:\n";
        PrintNested(node.body[1], depth, out);
      }
      return;
    case StmtKind::kAllocate:
      *out += "allocate " + node.buffer->name + ": " + TypeText(*node.buffer);
      *out += " ";
      *out += ScopeName(node.buffer->scope);
      *out += "\n";
      PrintStmt(node.body[0], depth, out);
      return;
    case StmtKind::kStore:
      *out += node.buffer->name + "[";
      PrintList(node.indices, out);
      *out += "] = ";
      Print(node.value, 0, out);
      break;
    case StmtKind::kPrefetch:
      *out += "prefetch " + node.buffer->name + "[";
      PrintList(node.indices, out);
      *out += "]";
      break;
    case StmtKind::kBarrier:
      *out += "barrier" + (node.name.empty() ? "" : " " + node.name);
      break;
    case StmtKind::kLibraryCall:
      *out += node.library->operation + " by ";
      PrintCall(node, out);
      break;
    case StmtKind::kCopy:
    case StmtKind::kIntrinsic:
      PrintCall(node, out);
      break;
  }
  PrintAttributes(node, out);
  *out += "\n";
}

}  // namespace

std::string_view ScopeName(Scope scope) {
  switch (scope) {
    case Scope::kGlobal:
      return "global";
    case Scope::kLocal:
      return "local";
    case Scope::kShared:
      return "shared";
  }
  return "";
}

std::string_view LoopSuffix(LoopKind kind) {
  switch (kind) {
    case LoopKind::kSerial:
      return "";
    case LoopKind::kParallel:
      return " parallel";
    case LoopKind::kVectorized:
      return " vectorized";
    case LoopKind::kUnrolled:
      return " unrolled";
    case LoopKind::kBlockX:
      return " block.x";
    case LoopKind::kBlockY:
      return " block.y";
    case LoopKind::kBlockZ:
      return " block.z";
    case LoopKind::kThreadX:
      return " thread.x";
    case LoopKind::kThreadY:
      return " thread.y";
    case LoopKind::kThreadZ:
      return " thread.z";
    case LoopKind::kVirtualThread:
      return " vthread";
  }
  return "";
}

std::string ToString(const Expr& expr) {
  std::string out;
  Print(expr, 0, &out);
  return out;
}

std::string ToString(const Stmt& stmt) {
  std::string out;
  PrintStmt(stmt, 0, &out);
  return out;
}

std::string ToString(const Program& program) {
  std::string out = program.name + "(";
  const std::size_t inputs =
      program.parameters.size() - static_cast<std::size_t>(program.output_count);
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    if (i > 0) out += i == inputs ? " -> " : ", ";
    if (i == 0 && inputs == 0) out += "-> ";
    out += program.parameters[i]->name + ": " + TypeText(*program.parameters[i]);
  }
  out += "):\n";
  PrintStmt(program.body, 1, &out);
  return out;
}

}  // namespace tilewright
