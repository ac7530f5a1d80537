#include "src/ir/visit.h"

#include "src/base/status.h"

namespace tilewright {

bool HasKind(const Expr& expr, ExprKind kind) {
  return AnyNode(expr, [&](const Expr& node) { return node->kind == kind; });
}

bool Contains(const Expr& expr, const Expr& var) {
  return AnyNode(expr, [&](const Expr& node) { return node.Same(var); });
}

bool LoadsFrom(const Expr& expr, const Buffer& buffer) {
  return AnyNode(expr, [&](const Expr& node) {
    return node->kind == ExprKind::kLoad && node->buffer == buffer;
  });
}

bool SameExpr(const Expr& a, const Expr& b) {
  if (a.Same(b)) return true;
  if (!a || !b) return false;
  if (a->kind != b->kind || a->dtype != b->dtype || a->kind == ExprKind::kVar ||
      a->int_value != b->int_value || a->float_value != b->float_value || a->buffer != b->buffer ||
      a->args.size() != b->args.size() || a->name != b->name) {
    return false;
  }
  for (std::size_t i = 0; i < a->args.size(); ++i) {
    if (!SameExpr(a->args[i], b->args[i])) return false;
  }
  return true;
}

Expr WithArgs(const Expr& expr, std::vector<Expr> args) {
  TW_CHECK(args.size() == expr->args.size());
  switch (expr->kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kVar:
      return expr;
    case ExprKind::kCast:
      return MakeCast(expr->dtype, std::move(args[0]));
    case ExprKind::kNot:
      return MakeNot(std::move(args[0]));
    case ExprKind::kSelect:
      return MakeSelect(std::move(args[0]), std::move(args[1]), std::move(args[2]));
    case ExprKind::kLoad:
      return MakeLoad(expr->buffer, std::move(args));
    case ExprKind::kCall:
      return MakeCall(expr->dtype, expr->name, std::move(args));
    default:
      return MakeBinary(expr->kind, std::move(args[0]), std::move(args[1]));
  }
}

Expr Substitute(const Expr& expr, const Substitution& substitution) {
  if (expr->kind == ExprKind::kVar) {
    for (const auto& [var, value] : substitution) {
      if (var == expr.get()) return value;
    }
    return expr;
  }
  return MapArgs(expr, [&](const Expr& arg) { return Substitute(arg, substitution); });
}

Expr Rewrite(const Expr& expr, const std::function<Expr(const Expr&)>& change) {
  const Expr rebuilt = MapArgs(expr, [&](const Expr& arg) { return Rewrite(arg, change); });
  Expr changed = change(rebuilt);
  return changed ? changed : rebuilt;
}

Expr LoadInstead(const Expr& expr, const Buffer& from, const Buffer& to) {
  return Rewrite(expr, [&](const Expr& node) -> Expr {
    const bool reads = node->kind == ExprKind::kLoad && node->buffer == from;
    return reads ? MakeLoad(to, node->args) : Expr();
  });
}

Stmt WithBody(const Stmt& stmt, std::vector<Stmt> body) {
  if (stmt->kind == StmtKind::kBlock) return MakeBlock(std::move(body));
  StmtNode node = *stmt;
  node.body = std::move(body);
  return Stmt(std::make_shared<const StmtNode>(std::move(node)));
}

Stmt MapOwnExprs(const Stmt& stmt, const std::function<Expr(const Expr&)>& change) {
  bool changed = false;
  StmtNode node = *stmt;
  const auto map = [&](Expr* expr) {
    if (!*expr) return;
    Expr value = change(*expr);
    changed = changed || !value.Same(*expr);
    *expr = std::move(value);
  };
  for (Expr& index : node.indices) map(&index);
  map(&node.value);
  map(&node.condition);
  for (Region& region : node.regions) {
    for (Expr& min : region.min) map(&min);
  }
  return changed ? Stmt(std::make_shared<const StmtNode>(std::move(node))) : stmt;
}

Stmt MapExprs(const Stmt& stmt, const std::function<Expr(const Expr&)>& change) {
  std::vector<Stmt> body;
  body.reserve(stmt->body.size());
  for (const Stmt& part : stmt->body) body.push_back(MapExprs(part, change));
  Stmt own = MapOwnExprs(stmt, change);
  return body.empty() ? own : WithBody(own, std::move(body));
}

}  // namespace tilewright
