// Primitives on the loops of one stage. stage_primitives.cc has those that relate stages.

#include "src/schedule/schedule.h"

#include <algorithm>

#include "src/base/math.h"
#include "src/schedule/dot.h"

namespace tilewright {
namespace {

bool IsBinding(LoopKind kind) {
  switch (kind) {
    case LoopKind::kBlockX:
    case LoopKind::kBlockY:
    case LoopKind::kBlockZ:
    case LoopKind::kThreadX:
    case LoopKind::kThreadY:
    case LoopKind::kThreadZ:
    case LoopKind::kVirtualThread:
      return true;
    default:
      return false;
  }
}

/// Returns an empty text if the leaves from `first` on match the intrinsic, else the expected
/// loops.
std::string WrongLoops(const Schedule& schedule, const Schedule::StageInfo& info, std::size_t first,
                       std::string_view intrinsic) {
  const std::size_t count = info.leaves.size() - first;
  const auto fits = [&](std::size_t place, std::int64_t extent, bool reduction) {
    const Schedule::LoopInfo& loop = schedule.loop(info.leaves[first + place]);
    return loop.extent == extent && loop.reduction == reduction;
  };
  if (const MmaIntrinsic* mma = FindMmaIntrinsic(intrinsic)) {
    if (count == 3 && fits(0, mma->rows(), false) && fits(1, MmaIntrinsic::kColumns, false) &&
        fits(2, mma->k, true)) {
      return {};
    }
    return "expected loops over " + std::to_string(mma->rows()) +
           " rows, 2 columns and a reduction of extent " + std::to_string(mma->k) + ", innermost";
  }
  if (const TileIntrinsic* tiles = FindTileIntrinsic(intrinsic)) {
    bool sums = count >= TileIntrinsic::kLoops;
    for (std::size_t i = 0; i < count; ++i) {
      sums = sums && schedule.loop(info.leaves[first + i]).reduction == (i >= 2);
    }
    const auto extent = [&](std::size_t from_end) {
      return schedule.loop(info.leaves[info.leaves.size() - from_end]).extent;
    };
    if (sums && extent(1) == tiles->depth && extent(2) <= TileIntrinsic::kRows) return {};
    return "expected loops over rows, columns and reductions, the last two of extents up to 16 "
           "and " +
           std::to_string(tiles->depth);
  }
  const std::int64_t depth = FindDotIntrinsic(intrinsic)->depth;
  if (count == 2 && fits(1, depth, true)) return {};
  return "inside loop '" + schedule.loop(info.leaves[first]).name +
         "' must be one reduction of extent " + std::to_string(depth);
}

/// Collector of the loads of an expression, in order. Visits a shared operand, as in long
/// transforms, only once, except for the few loads whose indices contain loads.
class LoadCollector {
 public:
  void Walk(const Expr& expr) {
    const bool load = expr->kind == ExprKind::kLoad;
    if (load) {
      loads.push_back(expr.get());
      if (std::ranges::find(flat_, expr.get()) != flat_.end()) return;
    }
    const std::size_t before = loads.size();
    for (const Expr& arg : expr->args) Walk(arg);
    if (load && loads.size() == before) flat_.push_back(expr.get());
  }
  std::vector<const ExprNode*> loads;

 private:
  std::vector<const ExprNode*> flat_;
};

}  // namespace

Schedule::Schedule(Compute compute) : compute_(std::move(compute)) {
  stages_.reserve(compute_.stages.size() + 2);
  loops_.reserve(48);  // more than most templates need, to avoid reallocation
  steps_.reserve(48);
  for (const ComputeOp& op : compute_.stages) {
    StageInfo stage;
    stage.op = op;
    SetBody(&stage, op.body);
    stage.scope = op.output->scope;
    NewRootLoops(&stage);
    order_.push_back({static_cast<int>(stages_.size())});
    stages_.push_back(std::move(stage));
  }
}

LoopId Schedule::NewLoop(std::string name, std::int64_t extent, bool reduction) {
  LoopInfo loop;
  loop.name = std::move(name);
  loop.extent = extent;
  loop.reduction = reduction;
  loops_.push_back(std::move(loop));
  return {static_cast<int>(loops_.size()) - 1};
}

void Schedule::SetBody(StageInfo* stage, Expr body) {
  stage->op.body = std::move(body);
  LoadCollector collector;
  collector.Walk(stage->op.body);
  stage->loads = std::move(collector.loads);
}

void Schedule::NewRootLoops(StageInfo* stage) {
  for (const auto* axes : {&stage->op.axes, &stage->op.reduce_axes}) {
    for (const Axis& axis : *axes) {
      stage->root.push_back(NewLoop(axis.var->name, axis.extent, axis.reduction));
    }
  }
  stage->leaves = stage->root;
}

void Schedule::Refuse(std::string reason) {
  if (status_.ok()) status_ = InvalidArgument(std::move(reason));
}

void Schedule::RefuseStage(StageId stage, const char* primitive, std::string_view reason) {
  if (!status_.ok()) return;
  Refuse(std::string(primitive) + " of stage '" + this->stage(stage).op.name +
         "': " + std::string(reason));
}

bool Schedule::Usable(StageId stage, const char* primitive) {
  if (!status_.ok()) return false;
  if (stage.index < 0 || static_cast<std::size_t>(stage.index) >= stages_.size()) {
    Refuse(std::string(primitive) + ": no such stage");
    return false;
  }
  if (this->stage(stage).attach == Attach::kInline) {
    RefuseStage(stage, primitive, "the stage is inlined and has no loops");
    return false;
  }
  return true;
}

int Schedule::LeafOf(StageId stage, LoopId loop, const char* primitive) {
  if (!Usable(stage, primitive)) return -1;
  const auto& leaves = this->stage(stage).leaves;
  const auto found = std::find(leaves.begin(), leaves.end(), loop);
  if (found != leaves.end()) return static_cast<int>(found - leaves.begin());
  const bool known = loop.index >= 0 && static_cast<std::size_t>(loop.index) < loops_.size();
  RefuseStage(stage, primitive,
              "loop '" + (known ? this->loop(loop).name : "?") + "' is none of its leaves");
  return -1;
}

StageId Schedule::Stage(std::string_view name) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].op.name == name) return {static_cast<int>(i)};
  }
  Refuse("no stage '" + std::string(name) + "'");
  return {};
}

bool Schedule::HasStage(std::string_view name) const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [&](const StageInfo& stage) { return stage.op.name == name; });
}

StageId Schedule::ProducerOf(const Buffer& buffer) const {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].op.output == buffer) return {static_cast<int>(i)};
  }
  return {};
}

LoopId Schedule::SpatialAxis(StageId stage, int i) {
  if (!Usable(stage, "axis")) return {};
  const StageInfo& info = this->stage(stage);
  if (i < 0 || static_cast<std::size_t>(i) >= info.op.axes.size()) {
    RefuseStage(stage, "axis", "no spatial axis " + std::to_string(i));
    return {};
  }
  return info.root[static_cast<std::size_t>(i)];
}

LoopId Schedule::ReductionAxis(StageId stage, int i) {
  if (!Usable(stage, "axis")) return {};
  const StageInfo& info = this->stage(stage);
  if (i < 0 || static_cast<std::size_t>(i) >= info.op.reduce_axes.size()) {
    RefuseStage(stage, "axis", "no reduction axis " + std::to_string(i));
    return {};
  }
  return info.root[info.op.axes.size() + static_cast<std::size_t>(i)];
}

std::int64_t Schedule::Extent(LoopId loop) const {
  const bool known = loop.index >= 0 && static_cast<std::size_t>(loop.index) < loops_.size();
  return known ? this->loop(loop).extent : 1;
}

std::vector<LoopId> Schedule::Leaves(StageId stage) const {
  const bool known = stage.index >= 0 && static_cast<std::size_t>(stage.index) < stages_.size();
  return known ? this->stage(stage).leaves : std::vector<LoopId>();
}

std::pair<LoopId, LoopId> Schedule::Split(StageId stage, LoopId loop, std::int64_t factor,
                                          Tail tail) {
  return AddSplit(stage, loop, {Relation::Kind::kSplit, loop, {}, {}, factor, 0, tail}, "split");
}

std::pair<LoopId, LoopId> Schedule::SplitParts(StageId stage, LoopId loop, std::int64_t parts) {
  return AddSplit(stage, loop, {Relation::Kind::kSplit, loop, {}, {}, 1, parts, Tail::kGuard},
                  "split_parts");
}

std::pair<LoopId, LoopId> Schedule::AddSplit(StageId stage, LoopId loop, Relation relation,
                                             const char* primitive) {
  const int leaf = LeafOf(stage, loop, primitive);
  if (leaf < 0) return {};
  const std::int64_t asked = relation.parts != 0 ? relation.parts : relation.factor;
  if (asked < 1) {
    RefuseStage(stage, primitive,
                "factor " + std::to_string(asked) + " of loop '" + this->loop(loop).name +
                    "', expected at least 1");
    return {};
  }
  if (this->loop(loop).kind != LoopKind::kSerial) {
    RefuseStage(stage, primitive, "loop '" + this->loop(loop).name + "' is annotated already");
    return {};
  }
  const std::string name = this->loop(loop).name;
  const bool reduction = this->loop(loop).reduction;
  const std::int64_t extent = this->loop(loop).extent;
  const std::int64_t factor = relation.InnerExtent(extent);
  relation.outer = NewLoop(name + ".o", CeilDiv(extent, factor), reduction);
  relation.inner = NewLoop(name + ".i", factor, reduction);
  const LoopId outer = relation.outer, inner = relation.inner;
  StageInfo& info = Mutable(stage);
  info.relations.push_back(relation);
  info.leaves[static_cast<std::size_t>(leaf)] = outer;
  info.leaves.insert(info.leaves.begin() + leaf + 1, inner);
  steps_.push_back({.primitive = relation.parts != 0 ? Primitive::kSplitParts : Primitive::kSplit,
                    .stage = stage,
                    .loops = {loop, outer, inner},
                    .number = asked,
                    .tail = relation.tail});
  return {outer, inner};
}

std::vector<LoopId> Schedule::SplitBy(StageId stage, LoopId loop,
                                      const std::vector<std::int64_t>& factors, Tail tail) {
  std::vector<LoopId> parts(factors.size());
  if (factors.empty()) {
    if (Usable(stage, "split")) RefuseStage(stage, "split", "no factors");
    return parts;
  }
  LoopId rest = loop;
  for (std::size_t i = factors.size(); i-- > 1;) {
    std::tie(rest, parts[i]) = Split(stage, rest, factors[i], tail);
  }
  parts[0] = rest;
  return parts;
}

LoopId Schedule::Fuse(StageId stage, LoopId outer, LoopId inner) {
  const int first = LeafOf(stage, outer, "fuse");
  const int second = LeafOf(stage, inner, "fuse");
  if (first < 0 || second < 0) return {};
  const LoopInfo& a = loop(outer);
  const LoopInfo& b = loop(inner);
  const std::string names = "'" + a.name + "' and '" + b.name + "'";
  std::string reason;
  if (second != first + 1) reason = "loops " + names + " are not adjacent, outer first";
  if (a.reduction != b.reduction) reason = "loops " + names + " are spatial and reduction";
  if (a.kind != LoopKind::kSerial || b.kind != LoopKind::kSerial) {
    reason = "one of the loops " + names + " is annotated already";
  }
  if (!reason.empty()) {
    RefuseStage(stage, "fuse", reason);
    return {};
  }
  const std::int64_t inner_extent = b.extent;
  const LoopId fused = NewLoop(a.name + "." + b.name, a.extent * b.extent, a.reduction);
  StageInfo& info = Mutable(stage);
  info.relations.push_back(
      {Relation::Kind::kFuse, fused, outer, inner, inner_extent, 0, Tail::kGuard});
  info.leaves[static_cast<std::size_t>(first)] = fused;
  info.leaves.erase(info.leaves.begin() + second);
  steps_.push_back({.primitive = Primitive::kFuse, .stage = stage, .loops = {outer, inner, fused}});
  return fused;
}

void Schedule::Reorder(StageId stage, const std::vector<LoopId>& order) {
  std::vector<int> places;
  for (LoopId loop : order) {
    const int leaf = LeafOf(stage, loop, "reorder");
    if (leaf < 0) return;
    if (std::find(places.begin(), places.end(), leaf) != places.end()) {
      RefuseStage(stage, "reorder", "loop '" + this->loop(loop).name + "' is named twice");
      return;
    }
    places.push_back(leaf);
  }
  std::sort(places.begin(), places.end());
  if (order.empty()) return;
  StageInfo& info = Mutable(stage);
  for (std::size_t i = 0; i < order.size(); ++i) {
    info.leaves[static_cast<std::size_t>(places[i])] = order[i];
  }
  steps_.push_back({.primitive = Primitive::kReorder, .stage = stage, .loops = order});
}

bool Schedule::Annotate(StageId stage, LoopId loop, LoopKind kind, const char* primitive) {
  if (LeafOf(stage, loop, primitive) < 0) return false;
  LoopInfo& info = Mutable(loop);
  if (info.kind != LoopKind::kSerial && info.kind != kind) {
    RefuseStage(stage, primitive, "loop '" + info.name + "' is annotated already");
    return false;
  }
  if (info.reduction && kind != LoopKind::kUnrolled) {
    RefuseStage(stage, primitive, "loop '" + info.name + "' is a reduction");
    return false;
  }
  if (kind != LoopKind::kUnrolled && kind != LoopKind::kVirtualThread) {
    for (LoopId other : this->stage(stage).leaves) {
      if (other == loop || this->loop(other).kind != kind) continue;
      RefuseStage(stage, primitive, "loop '" + this->loop(other).name + "' is so already");
      return false;
    }
  }
  info.kind = kind;
  steps_.push_back(
      {.primitive = Primitive::kAnnotate, .stage = stage, .loops = {loop}, .kind = kind});
  return true;
}

void Schedule::Parallel(StageId stage, LoopId loop) {
  Annotate(stage, loop, LoopKind::kParallel, "parallel");
}
void Schedule::Vectorize(StageId stage, LoopId loop) {
  Annotate(stage, loop, LoopKind::kVectorized, "vectorize");
}
void Schedule::Unroll(StageId stage, LoopId loop) {
  Annotate(stage, loop, LoopKind::kUnrolled, "unroll");
}

void Schedule::Bind(StageId stage, LoopId loop, LoopKind thread) {
  if (!Usable(stage, "bind")) return;
  if (!IsBinding(thread)) {
    RefuseStage(stage, "bind", "not a block, thread or virtual thread");
    return;
  }
  Annotate(stage, loop, thread, "bind");
}

void Schedule::Pragma(StageId stage, LoopId loop, std::string name, std::int64_t value) {
  if (LeafOf(stage, loop, "pragma") < 0) return;
  steps_.push_back({.primitive = Primitive::kPragma,
                    .stage = stage,
                    .loops = {loop},
                    .number = value,
                    .text = name});
  Mutable(loop).pragmas[std::move(name)] = value;
}

void Schedule::Prefetch(StageId stage, std::string_view buffer, LoopId loop, std::int64_t distance,
                        int locality) {
  if (LeafOf(stage, loop, "prefetch") < 0) return;
  const auto& inputs = compute_.inputs;
  const bool known = std::any_of(inputs.begin(), inputs.end(),
                                 [&](const Buffer& input) { return input->name == buffer; });
  if (!known) {
    RefuseStage(stage, "prefetch", "no input '" + std::string(buffer) + "'");
  } else if (distance < 1 || locality < 0 || locality > 3) {
    RefuseStage(stage, "prefetch",
                "distance " + std::to_string(distance) + ", locality " + std::to_string(locality) +
                    ", expected at least 1 and 0 to 3");
  } else {
    Mutable(stage).prefetches.push_back({std::string(buffer), loop, distance, locality});
    steps_.push_back({.primitive = Primitive::kPrefetch,
                      .stage = stage,
                      .loops = {loop},
                      .number = distance,
                      .more = locality,
                      .text = std::string(buffer)});
  }
}

void Schedule::Tensorize(StageId stage, LoopId loop, std::string_view intrinsic) {
  const int leaf = LeafOf(stage, loop, "tensorize");
  if (leaf < 0) return;
  StageInfo& info = Mutable(stage);
  const auto refuse = [&](const std::string& reason) {
    RefuseStage(stage, "tensorize", std::string(intrinsic) + ": " + reason);
  };
  const auto types = TypesOfIntrinsic(intrinsic);
  if (!types) return refuse("no such intrinsic");
  if (info.tensorized.index >= 0) return refuse("the stage is tensorized already");
  if (this->loop(loop).reduction) return refuse("the vector axis is a reduction");
  if (std::string reason = WrongLoops(*this, info, static_cast<std::size_t>(leaf), intrinsic);
      !reason.empty()) {
    return refuse(reason);
  }
  const auto operands = MatchProducts(info.op, *types);
  if (!operands.ok()) return refuse(operands.status().message());
  info.tensorized = loop;
  info.intrinsic = std::string(intrinsic);
  steps_.push_back({.primitive = Primitive::kTensorize,
                    .stage = stage,
                    .loops = {loop},
                    .text = info.intrinsic});
}

}  // namespace tilewright
