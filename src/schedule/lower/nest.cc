// Loops of one stage, from the outermost in. At each level, in this order: place guards whose
// variables are known, peel tails that are determined (the code forks), emit stages computed here,
// open the next loop. A reduction forks into initialisation and update just outside its outermost
// reduction loop.

#include <bit>

#include "src/ir/visit.h"
#include "src/schedule/check.h"
#include "src/schedule/dot.h"
#include "src/schedule/lower/lowering.h"

namespace tilewright {
namespace {

using Relation = Schedule::Relation;

bool IsReduction(const Schedule::StageInfo& info) { return info.op.combiner != Combiner::kNone; }

/// Returns the position of the outermost leaf of a set; 64 for an empty set.
std::size_t First(std::uint64_t leaves) {
  return static_cast<std::size_t>(std::countr_zero(leaves));
}
/// Returns one more than the position of the innermost leaf of a set.
std::size_t EndOf(std::uint64_t leaves) {
  return static_cast<std::size_t>(64 - std::countl_zero(leaves));
}

}  // namespace

/// Emits a call. Its operands are the inputs that the stage reads, in the order of the signature.
Stmt Lowering::EmitLibraryCall(StageId stage) {
  const auto& info = schedule_.stage(stage);
  std::vector<Buffer> operands;
  for (const Buffer& input : schedule_.compute().inputs) {
    if (Reads(info, input)) operands.push_back(input);
  }
  return MakeLibraryCall(*info.library, realized_[static_cast<std::size_t>(stage.index)].buffer,
                         operands);
}

Stmt Lowering::EmitStage(StageId stage, const Part& part) {
  const auto& info = schedule_.stage(stage);
  if (info.library) return EmitLibraryCall(stage);
  std::vector<std::int64_t> extents = part.extent;
  for (const Axis& axis : info.op.reduce_axes) extents.push_back(axis.extent);
  Nest nest{.stage = stage,
            .info = &info,
            .loops = StageLoops(schedule_, stage, extents),
            .origin = part.min,
            .part_extents = part.extent,
            .fixed = {},
            .offsets = {},
            .body = info.op.body,
            .taps = {},
            .leaf = {},
            .loop_values = {},
            .local = {},
            .axis = {},
            .guards = {},
            .emitted = {}};
  if (info.skip_zero_taps) nest.body = StripPaddedTaps(info.op, &nest.taps);
  nest.leaf.resize(info.leaves.size());
  Refresh(&nest, 0);
  nest.emitted.assign(nest.guards.size(), false);
  return EmitLevel(&nest, 0, false);
}

void Lowering::Refresh(Nest* nest, std::size_t from) {
  for (std::size_t p = from; p < nest->leaf.size(); ++p) {
    const LoopId id = nest->info->leaves[p];
    const auto& loop = schedule_.loop(id);
    const std::int64_t extent = nest->loops.extent(id);
    if (extent == 1 || (nest->part == Nest::Part::kInit && loop.reduction)) {
      nest->leaf[p] = Expr(0);
      continue;
    }
    nest->leaf[p] = MakeVar(loop.name);
    ranges_.Set(nest->leaf[p], {0, extent - 1});
  }
  RefreshValues(nest);
  RefreshGuards(nest);
}

void Lowering::RefreshValues(Nest* nest) {
  nest->loop_values.assign(schedule_.loop_count(), Expr());
  const auto assign = [&](LoopId loop, Expr value) {
    for (const auto& [known, constant] : nest->fixed) {
      if (known == loop) value = constant;
    }
    nest->loop_values[static_cast<std::size_t>(loop.index)] = std::move(value);
  };
  const auto value = [&](LoopId loop) {
    return nest->loop_values[static_cast<std::size_t>(loop.index)];
  };
  const auto& info = *nest->info;
  for (std::size_t p = 0; p < nest->leaf.size(); ++p) {
    Expr index = nest->leaf[p];
    for (const auto& [loop, first] : nest->offsets) {
      if (loop == info.leaves[p]) index = index + Expr(first);
    }
    assign(info.leaves[p], std::move(index));
  }
  for (std::size_t i = info.relations.size(); i-- > 0;) {
    const Relation& r = info.relations[i];
    const Expr factor(nest->loops.factor(i));
    if (r.kind == Relation::Kind::kSplit) {
      assign(r.parent, Simplify(value(r.outer) * factor + value(r.inner), ranges_));
    } else if (nest->loops.extent(r.outer) == 1) {
      assign(r.outer, Expr(0));  // also beyond the extent, where guards skip the body
      assign(r.inner, value(r.parent));
    } else {
      assign(r.outer, Simplify(FloorDiv(value(r.parent), factor), ranges_));
      assign(r.inner, Simplify(FloorMod(value(r.parent), factor), ranges_));
    }
  }
  nest->local.clear();
  nest->axis.clear();
  for (std::size_t a = 0; a < info.root.size(); ++a) {
    const Expr index = value(info.root[a]);
    if (a < info.op.axes.size()) {
      nest->local.push_back(index);
      nest->axis.push_back(Simplify(nest->origin[a] + index, ranges_));
    } else {
      nest->axis.push_back(index);
    }
  }
}

void Lowering::RefreshGuards(Nest* nest) {
  nest->guards.clear();
  const auto add = [&](Expr condition, bool update_only) {
    Nest::Guard guard;
    guard.update_only = update_only;
    if (condition) {
      condition = Simplify(condition, ranges_);
      std::int64_t value = 0;
      if (!condition.IsInt(&value) || value == 0) guard.condition = condition;
      for (std::size_t p = 0; p < nest->leaf.size(); ++p) {
        if (Mentions(condition, {{nest->leaf[p].get(), Box()}})) guard.depth = p + 1;
      }
    }
    nest->guards.push_back(std::move(guard));
  };
  const auto& info = *nest->info;
  for (std::size_t i = 0; i < info.relations.size(); ++i) {
    const LoopId parent = info.relations[i].parent;
    Expr condition;
    if (nest->loops.HasTail(i)) {
      condition = Lt(nest->loop_values[static_cast<std::size_t>(parent.index)],
                     Expr(nest->loops.extent(parent)));
    }
    add(condition, schedule_.loop(parent).reduction);
  }
  const auto add_bounds = [&](std::size_t d, const Expr& min, std::int64_t extent) {
    const auto first = BoundsOf(nest->origin[d] - min, ranges_);
    const bool low = !first || first->min < 0;
    const bool high = !first || first->max + nest->part_extents[d] > extent;
    add(low ? Le(min, nest->axis[d]) : Expr(), false);
    add(high ? Lt(nest->axis[d], Simplify(min + Expr(extent), ranges_)) : Expr(), false);
  };
  for (std::size_t d = 0; d < nest->origin.size(); ++d) {
    add_bounds(d, Expr(0), info.op.axes[d].extent);
    for (const Part& part : allowed_[static_cast<std::size_t>(nest->stage.index)]) {
      add_bounds(d, part.min[d], part.extent[d]);
    }
  }
  Substitution axes;
  for (std::size_t a = 0; a < nest->axis.size(); ++a) {
    const auto& op = info.op;
    const Axis& axis = a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()];
    axes.emplace_back(axis.var.get(), nest->axis[a]);
  }
  for (const Expr& tap : nest->taps) add(Substitute(tap, axes), true);
}

bool Lowering::Active(const Nest& nest, const Nest::Guard& guard) const {
  if (!guard.condition) return false;
  return !guard.update_only || nest.part == Nest::Part::kUpdate;
}

Expr Lowering::TakeGuards(Nest* nest, std::size_t p) {
  Expr all;
  for (std::size_t i = 0; i < nest->guards.size(); ++i) {
    const Nest::Guard& guard = nest->guards[i];
    if (nest->emitted[i] || guard.depth > p || !Active(*nest, guard)) continue;
    nest->emitted[i] = true;
    all = all ? And(all, guard.condition) : guard.condition;
  }
  return all;
}

bool Lowering::WantsPeel(const Nest& nest, std::size_t relation) const {
  const Relation& r = nest.info->relations[relation];
  if (!nest.loops.HasTail(relation)) return false;
  if (nest.part != Nest::Part::kUpdate && schedule_.loop(r.parent).reduction) return false;
  // A guard inside a vector would be slow: its tail is always peeled.
  return r.tail == Tail::kPeel || schedule_.loop(r.inner).kind == LoopKind::kVectorized ||
         r.inner == nest.info->tensorized;
}

/// Peels a tail whose outer loop is part of a fused or parallel one: a branch, taken once per
/// iteration of the enclosing loops.
std::optional<Stmt> Lowering::EmitPeeledBranch(Nest* nest, std::size_t p, bool entered) {
  for (std::size_t i = 0; i < nest->info->relations.size(); ++i) {
    const Relation& r = nest->info->relations[i];
    if (!WantsPeel(*nest, i) || EndOf(nest->loops.leaves_of(r.outer)) > p ||
        First(nest->loops.leaves_of(r.inner)) < p) {
      continue;
    }
    const std::int64_t outer = nest->loops.extent(r.outer);
    const std::int64_t factor = nest->loops.factor(i);
    const std::int64_t rest = nest->loops.extent(r.parent) - (outer - 1) * factor;
    const Expr tile = nest->loop_values[static_cast<std::size_t>(r.outer.index)];
    Nest full = *nest;
    Nest tail = *nest;
    full.loops.Peel(i, outer, factor);
    tail.loops.Peel(i, outer, rest);
    tail.fixed.emplace_back(r.outer, Expr(outer - 1));
    const auto emit = [&](Nest* copy, Interval tiles) {
      ranges_.PushFact(tile, tiles);
      Refresh(copy, p);
      Stmt stmt = EmitLevel(copy, p, entered);
      ranges_.PopFact();
      return stmt;
    };
    const Expr is_full = Simplify(Lt(tile, Expr(outer - 1)), ranges_);
    std::int64_t known = 0;
    if (is_full.IsInt(&known)) {
      return known != 0 ? emit(&full, {0, outer - 2}) : emit(&tail, {outer - 1, outer - 1});
    }
    Stmt full_code = emit(&full, {0, outer - 2});
    return MakeIf(is_full, std::move(full_code), emit(&tail, {outer - 1, outer - 1}));
  }
  return std::nullopt;
}

/// Peels a tail whose outer loop is the next to open: the loop ends one iteration early.
std::optional<Stmt> Lowering::EmitPeeledLoop(Nest* nest, std::size_t p) {
  const LoopId leaf = nest->info->leaves[p];
  const LoopKind kind = schedule_.loop(leaf).kind;
  if (kind != LoopKind::kSerial && kind != LoopKind::kUnrolled) return std::nullopt;
  for (std::size_t i = 0; i < nest->info->relations.size(); ++i) {
    const Relation& r = nest->info->relations[i];
    if (r.outer != leaf || !WantsPeel(*nest, i) || First(nest->loops.leaves_of(r.inner)) <= p) {
      continue;
    }
    const std::int64_t outer = nest->loops.extent(r.outer);
    const std::int64_t factor = nest->loops.factor(i);
    const std::int64_t rest = nest->loops.extent(r.parent) - (outer - 1) * factor;
    Nest full = *nest;
    Nest tail = *nest;
    full.loops.Peel(i, outer - 1, factor);
    tail.loops.Peel(i, 1, rest);
    tail.fixed.emplace_back(r.outer, Expr(outer - 1));
    Refresh(&full, p);
    Stmt full_code = EmitPartition(&full, p);
    Refresh(&tail, p);
    return MakeBlock({std::move(full_code), EmitFor(&tail, p)});
  }
  return std::nullopt;
}

/// Emits the code inside leaf loops 0 to p-1. entered: leaf loop p-1 was opened just before.
Stmt Lowering::EmitLevel(Nest* nest, std::size_t p, bool entered) {
  if (!status_.ok()) return MakeBlock({});
  // Guards first: the branch treats every tile index from the last one on as the last tile.
  const Expr guard = TakeGuards(nest, p);
  auto branch = EmitPeeledBranch(nest, p, entered);
  Stmt code = branch                                       ? std::move(*branch)
              : entered && nest->part != Nest::Part::kInit ? EmitAttached(nest, p)
                                                           : EmitLoop(nest, p);
  return guard ? MakeIf(guard, std::move(code)) : code;
}

Stmt Lowering::EmitLoop(Nest* nest, std::size_t p) {
  const auto& info = *nest->info;
  const bool end = p == info.leaves.size();
  if (!end && info.leaves[p] == info.tensorized && FindTileIntrinsic(info.intrinsic) != nullptr) {
    return EmitTiles(*nest, p);
  }
  if (nest->part == Nest::Part::kWhole && IsReduction(info) &&
      (end || schedule_.loop(info.leaves[p]).reduction)) {
    Nest init = *nest;
    init.part = Nest::Part::kInit;
    Refresh(&init, p);
    Stmt init_code = EmitLevel(&init, p, false);
    nest->part = Nest::Part::kUpdate;
    return MakeBlock({std::move(init_code), EmitLevel(nest, p, false)});
  }
  if (end) return EmitBody(*nest);
  const LoopId leaf = info.leaves[p];
  if (nest->part == Nest::Part::kInit && schedule_.loop(leaf).reduction) {
    return EmitLevel(nest, p + 1, false);
  }
  if (nest->part == Nest::Part::kUpdate && leaf == info.tensorized) {
    return FindMmaIntrinsic(info.intrinsic) != nullptr ? EmitMma(*nest, p) : EmitDot(*nest, p);
  }
  if (auto peeled = EmitPeeledLoop(nest, p)) return *peeled;
  return EmitPartition(nest, p);
}

/// Returns the kind of a loop, considering the conditions still to be placed inside it.
LoopKind Lowering::KindOf(const Nest& nest, std::size_t p) const {
  const LoopId id = nest.info->leaves[p];
  const LoopKind kind =
      id == nest.info->tensorized ? LoopKind::kVectorized : schedule_.loop(id).kind;
  for (std::size_t i = 0; i < nest.guards.size(); ++i) {
    const Nest::Guard& guard = nest.guards[i];
    if (nest.emitted[i] || guard.depth <= p || !Active(nest, guard)) continue;
    if (kind == LoopKind::kVectorized) return LoopKind::kSerial;
    if (kind == LoopKind::kSerial && IsDecidedByUnrolling(nest, p, guard))
      return LoopKind::kUnrolled;
  }
  return kind;
}

Stmt Lowering::EmitFor(Nest* nest, std::size_t p) {
  const LoopId id = nest->info->leaves[p];
  const std::int64_t extent = nest->loops.extent(id);
  const auto& pragmas = schedule_.loop(id).pragmas;
  if (extent == 1) {
    Stmt body = EmitLevel(nest, p + 1, true);
    if (pragmas.empty()) return body;
    return MakeFor(MakeVar(schedule_.loop(id).name), 1, LoopKind::kSerial, std::move(body),
                   pragmas);
  }
  const LoopKind kind = KindOf(*nest, p);
  if (nest->info->pipeline > 0 && kind == LoopKind::kVectorized) return EmitAsyncCopy(*nest, p);
  const Expr var = nest->leaf[p];
  const bool thread = IsThreadLoop(kind) || kind == LoopKind::kVirtualThread;
  if (thread) threads_.emplace_back(var.get(), Box{Expr(0), extent});
  Stmt body = EmitLevel(nest, p + 1, true);
  if (thread) threads_.pop_back();
  return MakeFor(var, extent, kind, std::move(body), pragmas);
}

}  // namespace tilewright
