// Loop partitioning. Conditions that skip zero padding cost a branch per product, but only
// iterations at the edges of the data need them. If a serial loop runs from one edge to the other,
// this pass splits its iterations. Those at the edges become separate code with a constant loop
// variable, so that unrolling decides their conditions. Those in the interior become a loop in
// which the ranges decide them.

#include <algorithm>

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/schedule/check.h"
#include "src/schedule/dot.h"
#include "src/schedule/lower/lowering.h"

namespace tilewright {

/// Shrinks `inside` to the iterations of `var` in which `condition` holds for the whole part of the
/// stage. Leaves it unchanged if that depends on more than `var`. Returns true if the condition is
/// tested per element of the part.
bool Lowering::ShrinkInterior(const Expr& condition, const ComputeOp& op, const Part& part,
                              const Expr& var, Interval* inside) {
  const bool less = condition->kind == ExprKind::kLt;
  if ((!less && condition->kind != ExprKind::kLe) || condition->args[0].dtype() != kInt64) {
    return false;
  }
  LinearForm difference = LinearForm::Of(condition->args[1], ranges_);
  difference.Add(LinearForm::Of(condition->args[0], ranges_), -1);
  LinearForm least;  // of the difference, which must not be negative
  least.constant = difference.constant - (less ? 1 : 0);
  bool per_element = false;
  for (const auto& term : difference.terms) {
    bool known = false;
    for (std::size_t d = 0; d < op.axes.size(); ++d) {
      if (!op.axes[d].var.Same(term.atom)) continue;
      known = true;
      per_element = per_element || part.extent[d] > 1;
      least.Add(LinearForm::Of(part.min[d], ranges_), term.coefficient);
      if (term.coefficient < 0) least.constant += term.coefficient * (part.extent[d] - 1);
    }
    for (const Axis& axis : op.reduce_axes) {
      if (!axis.var.Same(term.atom)) continue;
      known = true;
      if (term.coefficient < 0) least.constant += term.coefficient * (axis.extent - 1);
    }
    if (!known) return false;
  }
  if (!per_element || least.terms.size() != 1 || !least.terms[0].atom.Same(var)) return false;
  const std::int64_t slope = least.terms[0].coefficient;
  if (slope > 0) {
    inside->min = std::max(inside->min, -FloorDiv(least.constant, slope));
  } else {
    inside->max = std::min(inside->max, FloorDiv(least.constant, -slope));
  }
  return true;
}

/// Returns the iterations of leaf `p` without padding in the code inside it; nullopt if no
/// condition depends on it.
std::optional<Interval> Lowering::InteriorOf(const Nest& nest, std::size_t p) {
  const LoopId leaf = nest.info->leaves[p];
  if (schedule_.loop(leaf).kind != LoopKind::kSerial || nest.loops.extent(leaf) == 1 ||
      nest.part != Nest::Part::kWhole) {
    return std::nullopt;
  }
  std::optional<std::vector<std::optional<Part>>> parts;
  const Interval all{0, nest.loops.extent(leaf) - 1};
  Interval inside = all;
  for (StageId id : schedule_.order()) {
    const auto& info = schedule_.stage(id);
    if (!info.skip_zero_taps || !ComputedInside(schedule_, id, nest.stage, p)) continue;
    if (!parts) parts = NeededParts(nest, p + 1);
    const auto& part = (*parts)[static_cast<std::size_t>(id.index)];
    std::vector<Expr> taps;
    StripPaddedTaps(info.op, &taps);
    for (const Expr& tap : taps) {
      if (part) ShrinkInterior(tap, info.op, *part, nest.leaf[p], &inside);
    }
  }
  if (inside == all) return std::nullopt;
  return inside;
}

Stmt Lowering::EmitPartition(Nest* nest, std::size_t p) {
  const auto inside = InteriorOf(*nest, p);
  if (!inside) return EmitFor(nest, p);
  // More copies would not fit the instruction cache.
  constexpr std::int64_t kMaxCopiesPerEdge = 2;
  const std::int64_t extent = nest->loops.extent(nest->info->leaves[p]);
  std::vector<Stmt> code;
  const auto emit = [&](std::int64_t first, std::int64_t count) {
    Nest copy = *nest;
    copy.loops.Restrict(p, count);
    copy.offsets.emplace_back(nest->info->leaves[p], first);
    Refresh(&copy, p);
    code.push_back(EmitFor(&copy, p));
  };
  const auto emit_edge = [&](std::int64_t first, std::int64_t end) {
    if (end - first > kMaxCopiesPerEdge) return emit(first, end - first);
    for (std::int64_t i = first; i < end; ++i) emit(i, 1);
  };
  if (inside->min > inside->max) {
    if (extent > kMaxCopiesPerEdge) return EmitFor(nest, p);
    emit_edge(0, extent);
  } else {
    emit_edge(0, inside->min);
    emit(inside->min, inside->max - inside->min + 1);
    emit_edge(inside->max + 1, extent);
  }
  return MakeBlock(std::move(code));
}

/// Returns true if a condition that skips a product becomes a constant when the short serial loop
/// `p` and the loops inside it are unrolled. A branch per product costs more than the longer code.
bool Lowering::IsDecidedByUnrolling(const Nest& nest, std::size_t p,
                                    const Nest::Guard& guard) const {
  constexpr std::int64_t kLongestLoop = 5;       // columns of a typical convolution kernel
  constexpr std::int64_t kMaxStatements = 1024;  // of the unrolled code
  if (!guard.update_only || nest.loops.extent(nest.info->leaves[p]) > kLongestLoop) return false;
  std::int64_t statements = 1;
  BoxMap unrolled;
  for (std::size_t q = p; q < nest.leaf.size(); ++q) {
    const LoopId leaf = nest.info->leaves[q];
    const LoopKind kind = schedule_.loop(leaf).kind;
    if (q != p && kind != LoopKind::kUnrolled) continue;
    statements *= nest.loops.extent(leaf);
    unrolled.emplace_back(nest.leaf[q].get(), Box());
  }
  bool decided = Mentions(guard.condition, {unrolled[0]}) && guard.depth > p + 1;
  ForEachNode(guard.condition, [&](const Expr& node) {
    if (node->kind == ExprKind::kVar) decided = decided && Mentions(node, unrolled);
  });
  return decided && statements <= kMaxStatements;
}

}  // namespace tilewright
