#include "src/schedule/tolerance.h"

#include <algorithm>

#include "src/ir/visit.h"
#include "src/schedule/intrinsics.h"
#include "src/tensor/reference/reference.h"

namespace tilewright {
namespace {

bool MultipliesTf32(const Stmt& stmt) {
  if (stmt->kind == StmtKind::kIntrinsic) {
    const MmaIntrinsic* mma = FindMmaIntrinsic(stmt->name);
    return mma != nullptr && mma->operand == kFloat32;
  }
  return std::ranges::any_of(stmt->body, MultipliesTf32);
}

bool RoundsToHalf(const Stmt& stmt) {
  bool rounds = false;
  ForEachOwnExpr(*stmt, [&](const Expr& expr) {
    rounds = rounds || AnyNode(expr, [](const Expr& node) {
               return node->kind == ExprKind::kCast && node.dtype() == kFloat16;
             });
  });
  return rounds || std::ranges::any_of(stmt->body, RoundsToHalf);
}

}  // namespace

std::optional<double> ToleranceOf(const Program& program) {
  if (MultipliesTf32(program.body)) return kToleranceOfTf32;
  return RoundsToHalf(program.body) ? std::optional(kToleranceOfFloat16) : std::nullopt;
}

}  // namespace tilewright
