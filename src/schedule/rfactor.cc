// Splits a reduction into partial results, one per position inside the split.

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/schedule/dot.h"
#include "src/schedule/schedule.h"

namespace tilewright {

StageId Schedule::RFactor(StageId stage, int reduction, std::int64_t factor) {
  if (!Usable(stage, "rfactor")) return {};
  const ComputeOp& whole = this->stage(stage).op;
  const auto r = static_cast<std::size_t>(reduction);
  std::string reason;
  if (!this->stage(stage).relations.empty()) reason = "its loops are split or fused already";
  if (reduction < 0 || r >= whole.reduce_axes.size()) {
    reason = "no reduction axis " + std::to_string(reduction);
  } else if (factor < 1 || factor > whole.reduce_axes[r].extent) {
    reason = "factor " + std::to_string(factor) + ", expected 1 to " +
             std::to_string(whole.reduce_axes[r].extent);
  }
  if (!reason.empty()) {
    RefuseStage(stage, "rfactor", reason);
    return {};
  }

  StageInfo partial;
  partial.op.name = whole.name + ".rf";
  while (HasStage(partial.op.name)) partial.op.name += ".rf";
  partial.op.combiner = whole.combiner;
  Substitution substitution;
  std::vector<std::int64_t> shape = whole.output->shape;
  shape.push_back(factor);
  for (const Axis& axis : whole.axes) {
    partial.op.axes.push_back({MakeVar(axis.var->name), axis.extent, false});
    substitution.emplace_back(axis.var.get(), partial.op.axes.back().var);
  }
  const Axis& split = whole.reduce_axes[r];
  const Axis lane{MakeVar(split.var->name + ".lane"), factor, false};
  partial.op.axes.push_back(lane);
  Expr inside;
  for (const Axis& axis : whole.reduce_axes) {
    const bool is_split = axis.var.Same(split.var);
    const Expr var = MakeVar(axis.var->name);
    const std::int64_t extent = is_split ? CeilDiv(axis.extent, factor) : axis.extent;
    const Expr position = is_split ? var * Expr(factor) + lane.var : var;
    partial.op.reduce_axes.push_back({var, extent, true});
    substitution.emplace_back(axis.var.get(), position);
    if (is_split && extent * factor != axis.extent) inside = Lt(position, Expr(axis.extent));
  }
  partial.op.output = MakeBuffer(partial.op.name, whole.output->dtype, std::move(shape));
  Expr body = Substitute(whole.body, substitution);
  if (inside) body = MakeSelect(inside, body, IdentityElementOf(whole.combiner, body.dtype()));
  SetBody(&partial, std::move(body));

  StageInfo& info = Mutable(stage);
  partial.skip_zero_taps = std::exchange(info.skip_zero_taps, false);
  std::vector<Expr> indices;
  for (const Axis& axis : info.op.axes) indices.push_back(axis.var);
  const Axis rest{MakeVar(lane.var->name), factor, true};
  indices.push_back(rest.var);
  info.op.reduce_axes = {rest};
  SetBody(&info, MakeLoad(partial.op.output, std::move(indices)));
  info.root.resize(info.op.axes.size());
  std::erase_if(info.leaves, [&](LoopId loop) { return this->loop(loop).reduction; });
  const LoopId loop = NewLoop(rest.var->name, factor, true);
  Mutable(stage).root.push_back(loop);
  Mutable(stage).leaves.push_back(loop);
  NewRootLoops(&partial);
  const StageId id = InsertBefore(stage, std::move(partial));
  steps_.push_back({.primitive = Primitive::kRFactor,
                    .stage = stage,
                    .other = id,
                    .number = reduction,
                    .more = factor});
  return id;
}

}  // namespace tilewright
