#include "tests/codegen/interpreter.h"

#include <algorithm>

#include "src/base/math.h"
#include "src/base/status.h"
#include "src/ir/fold.h"

namespace tilewright {

std::vector<std::int64_t>& Interpreter::Contents(const Buffer& buffer) {
  auto& contents = buffers_[buffer.get()];
  contents.resize(static_cast<std::size_t>(buffer->elements()));
  return contents;
}

std::int64_t& Interpreter::Element(const Buffer& buffer, const std::vector<Expr>& indices) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const std::int64_t index = Evaluate(indices[d]);
    TW_CHECK(index >= 0 && index < buffer->shape[d], "index out of bounds");
    flat = flat * buffer->shape[d] + index;
  }
  return Contents(buffer)[static_cast<std::size_t>(flat)];
}

std::int64_t Interpreter::Evaluate(const Expr& expr) {
  switch (expr->kind) {
    case ExprKind::kInt:
      return expr->int_value;
    case ExprKind::kVar:
      return vars_.at(expr.get());
    case ExprKind::kCast:
      return WrapToType(expr->dtype, Evaluate(expr->args[0]));
    case ExprKind::kNot:
      return Evaluate(expr->args[0]) == 0 ? 1 : 0;
    case ExprKind::kSelect:
      return Evaluate(expr->args[Evaluate(expr->args[0]) != 0 ? 1 : 2]);
    case ExprKind::kLoad:
      return Element(expr->buffer, expr->args);
    default:
      break;
  }
  const std::int64_t a = Evaluate(expr->args[0]);
  if (expr->kind == ExprKind::kAnd && a == 0) return 0;
  if (expr->kind == ExprKind::kOr && a != 0) return 1;
  const std::int64_t b = Evaluate(expr->args[1]);
  const auto value = FoldInt(expr->kind, expr->args[0]->dtype, a, b);
  TW_CHECK(value.has_value(), ToString(expr));
  return *value;
}

void Interpreter::Run(const Stmt& stmt) {
  switch (stmt->kind) {
    case StmtKind::kFor:
      for (std::int64_t i = 0; i < stmt->extent; ++i) {
        vars_[stmt->var.get()] = i;
        Run(stmt->body[0]);
      }
      return;
    case StmtKind::kStore: {
      const std::int64_t value = Evaluate(stmt->value);
      Element(stmt->buffer, stmt->indices) = WrapToType(stmt->buffer->dtype, value);
      return;
    }
    case StmtKind::kIf:
      if (Evaluate(stmt->condition) != 0) {
        Run(stmt->body[0]);
      } else if (stmt->body.size() > 1 && stmt->body[1]) {
        Run(stmt->body[1]);
      }
      return;
    default:
      for (const Stmt& child : stmt->body) Run(child);
  }
}

}  // namespace tilewright
