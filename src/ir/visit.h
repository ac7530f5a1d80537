#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "src/ir/stmt.h"

namespace tilewright {

/// Calls `visit` for every node of an expression in pre-order.
template <typename Visit>
void ForEachNode(const Expr& expr, const Visit& visit) {
  if (!expr) return;
  visit(expr);
  for (const Expr& arg : expr->args) ForEachNode(arg, visit);
}

/// Returns true if `holds` does for a node of the expression.
template <typename Holds>
bool AnyNode(const Expr& expr, const Holds& holds) {
  if (!expr) return false;
  return holds(expr) ||
         std::ranges::any_of(expr->args, [&](const Expr& arg) { return AnyNode(arg, holds); });
}
/// Returns true if the expression has a node of this kind.
bool HasKind(const Expr& expr, ExprKind kind);
/// Returns true if the expression contains the variable.
bool Contains(const Expr& expr, const Expr& var);
/// Returns true if the expression loads from the buffer.
bool LoadsFrom(const Expr& expr, const Buffer& buffer);

/// Returns true for expressions of the same structure over the same variables and buffers.
bool SameExpr(const Expr& a, const Expr& b);

/// Returns the expression with other operands, rebuilt through the Make functions (which fold).
/// Requires as many operands as the expression has.
Expr WithArgs(const Expr& expr, std::vector<Expr> args);
/// Returns the expression with `map` applied to each operand; the same node if none changed.
template <typename Map>
Expr MapArgs(const Expr& expr, const Map& map) {
  if (expr->args.empty()) return expr;
  std::vector<Expr> args;
  args.reserve(expr->args.size());
  bool changed = false;
  for (const Expr& arg : expr->args) {
    args.push_back(map(arg));
    changed = changed || !args.back().Same(arg);
  }
  return changed ? WithArgs(expr, std::move(args)) : expr;
}

/// Replacements of variables; a short list that is searched linearly.
using Substitution = std::vector<std::pair<const ExprNode*, Expr>>;
/// Replaces every variable of the substitution; shares unchanged nodes.
Expr Substitute(const Expr& expr, const Substitution& substitution);

/// Rewrites bottom-up: `change` gets each node after its operands were rewritten, and returns its
/// replacement (null: keep it).
Expr Rewrite(const Expr& expr, const std::function<Expr(const Expr&)>& change);

/// Returns the expression with loads of `to`, at the same indices, in place of those of `from`.
Expr LoadInstead(const Expr& expr, const Buffer& from, const Buffer& to);

/// Returns the statement with its nested statements replaced. Requires the same number of them.
Stmt WithBody(const Stmt& stmt, std::vector<Stmt> body);

/// Applies `change` to the expressions of the statement itself, not of nested statements.
Stmt MapOwnExprs(const Stmt& stmt, const std::function<Expr(const Expr&)>& change);
/// Applies `change` to the expressions of the statement and of all nested statements.
Stmt MapExprs(const Stmt& stmt, const std::function<Expr(const Expr&)>& change);

/// Calls `visit` for the expressions of the statement itself: indices, value, condition and the
/// first indices of regions.
template <typename Visit>
void ForEachOwnExpr(const StmtNode& stmt, const Visit& visit) {
  for (const Expr& index : stmt.indices) visit(index);
  if (stmt.value) visit(stmt.value);
  if (stmt.condition) visit(stmt.condition);
  for (const Region& region : stmt.regions) {
    for (const Expr& min : region.min) visit(min);
  }
}

}  // namespace tilewright
