#include "src/schedule/lower/region.h"

#include <algorithm>

#include "src/base/math.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

const Box* FindBox(const BoxMap& boxes, const ExprNode* var) {
  for (const auto& [known, box] : boxes) {
    if (known == var) return &box;
  }
  return nullptr;
}

/// Box with a linear first integer, for sums in BoxOf.
struct LinearBox {
  LinearForm min;
  std::int64_t extent = 1;
};

std::optional<LinearBox> LinearBoxOf(const LinearForm& form, const BoxMap& boxes,
                                     const Ranges& ranges);

/// Returns the box of x floordiv c or x floormod c, where x contains a boxed variable.
std::optional<LinearBox> DivisionBox(const Expr& atom, const BoxMap& boxes, const Ranges& ranges) {
  std::int64_t divisor = 0;
  if (!atom->args[1].IsInt(&divisor) || divisor <= 0) return std::nullopt;
  const auto inner = LinearBoxOf(LinearForm::Of(atom->args[0], ranges), boxes, ranges);
  if (!inner) return std::nullopt;
  const Expr min = inner->min.ToExpr();
  const LinearForm offset = LinearForm::Of(FloorMod(min, Expr(divisor)), ranges);
  // Maximum offset of the first integer in its block of `divisor`.
  const auto bounds = BoundsOf(offset, ranges);
  const std::int64_t into = bounds ? std::min(bounds->max, divisor - 1) : divisor - 1;
  LinearBox box;
  if (atom->kind == ExprKind::kFloorDiv) {
    box.min = LinearForm::Of(FloorDiv(min, Expr(divisor)), ranges);
    box.extent = (into + inner->extent - 1) / divisor + 1;
  } else if (into + inner->extent <= divisor) {
    box.min = offset;
    box.extent = inner->extent;
  } else {
    box.extent = divisor;
  }
  return box;
}

std::optional<LinearBox> AtomBox(const Expr& atom, const BoxMap& boxes, const Ranges& ranges) {
  LinearBox box;
  if (atom->kind == ExprKind::kVar) {
    const Box* found = FindBox(boxes, atom.get());
    if (found != nullptr) {
      box.min = LinearForm::Of(found->min, ranges);
      box.extent = found->extent;
    } else {
      box.min.AddTerm(atom, 1);
    }
    return box;
  }
  if (HasKind(atom, ExprKind::kLoad)) return std::nullopt;
  if (!Mentions(atom, boxes)) {
    box.min.AddTerm(atom, 1);
    return box;
  }
  if (atom->kind == ExprKind::kFloorDiv || atom->kind == ExprKind::kFloorMod) {
    return DivisionBox(atom, boxes, ranges);
  }
  return std::nullopt;
}

std::optional<LinearBox> LinearBoxOf(const LinearForm& form, const BoxMap& boxes,
                                     const Ranges& ranges) {
  LinearBox sum;
  sum.min.constant = form.constant;
  for (const auto& term : form.terms) {
    const auto atom = AtomBox(term.atom, boxes, ranges);
    if (!atom) return std::nullopt;
    const std::int64_t span = atom->extent - 1;
    sum.min.Add(atom->min, term.coefficient);
    if (term.coefficient < 0) sum.min.constant += term.coefficient * span;
    sum.extent += std::abs(term.coefficient) * span;
  }
  return sum;
}

}  // namespace

bool Mentions(const Expr& expr, const BoxMap& boxes) {
  return AnyNode(expr, [&](const Expr& node) {
    return node->kind == ExprKind::kVar && FindBox(boxes, node.get()) != nullptr;
  });
}

LinearForm FlatPosition(const std::vector<Expr>& indices, const std::vector<std::int64_t>& shape,
                        const Ranges& ranges) {
  LinearForm position;
  std::int64_t stride = 1;
  for (std::size_t d = indices.size(); d-- > 0;) {
    position.Add(LinearForm::Of(indices[d], ranges), stride);
    stride *= shape[d];
  }
  return position;
}

std::optional<Box> BoxOf(const Expr& index, const BoxMap& boxes, const Ranges& ranges) {
  const auto box = LinearBoxOf(LinearForm::Of(index, ranges), boxes, ranges);
  if (!box) return std::nullopt;
  return Box{box->min.ToExpr(), box->extent};
}

std::optional<Box> Unite(const Box& a, const Box& b, const Ranges& ranges) {
  LinearForm difference = LinearForm::Of(b.min, ranges);
  difference.Add(LinearForm::Of(a.min, ranges), -1);
  if (!difference.IsConstant()) return std::nullopt;
  const std::int64_t shift = difference.constant;  // of b relative to a
  const std::int64_t low = std::min<std::int64_t>(0, shift);
  const std::int64_t high = std::max(a.extent, shift + b.extent);
  return Box{Simplify(a.min + Expr(low), ranges), high - low};
}

}  // namespace tilewright
