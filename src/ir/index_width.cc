#include "src/ir/index_width.h"

#include <algorithm>
#include <iterator>

#include "src/ir/simplify.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

constexpr ExprKind kArithmetic[] = {ExprKind::kAdd,      ExprKind::kSub,      ExprKind::kMul,
                                    ExprKind::kFloorDiv, ExprKind::kFloorMod, ExprKind::kMin,
                                    ExprKind::kMax};

bool IsLarge(const Expr& expr, const Ranges& ranges) {
  constexpr std::int64_t kMax = std::int64_t{1} << 30;
  if (expr.IsInt()) return false;
  const auto bounds = BoundsOf(expr, ranges);
  return !bounds || bounds->min < -kMax || bounds->max > kMax;
}

bool Leaves(const Stmt& stmt, Ranges& ranges) {
  if (stmt->kind == StmtKind::kFor) ranges.Set(stmt->var, {0, stmt->extent - 1});
  bool leaves = false;
  ForEachOwnExpr(*stmt, [&](const Expr& expr) {
    ForEachNode(expr, [&](const Expr& node) {
      const bool counts = !leaves && node->dtype == kInt64 && node->args.size() == 2 &&
                          std::ranges::find(kArithmetic, node->kind) != std::end(kArithmetic);
      // The operands, too: x % 50 is small, x need not be.
      leaves = leaves || (counts && (IsLarge(node, ranges) || IsLarge(node->args[0], ranges) ||
                                     IsLarge(node->args[1], ranges)));
    });
  });
  return leaves || std::ranges::any_of(stmt->body,
                                       [&](const Stmt& one) { return one && Leaves(one, ranges); });
}

}  // namespace

bool LeavesInt32(const Stmt& stmt) {
  Ranges ranges;
  return Leaves(stmt, ranges);
}

}  // namespace tilewright
