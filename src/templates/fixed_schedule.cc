#include <algorithm>
#include <vector>

#include "src/ir/visit.h"
#include "src/schedule/check.h"
#include "src/schedule/dot.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/fixed_grid_schedule.h"
#include "src/templates/fixed_schedule.h"
#include "src/templates/registry.h"
#include "src/templates/row_schedule.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace {

/// True if computing the value again for every use costs more than storing it.
bool IsExpensive(const Expr& value) { return HasKind(value, ExprKind::kCall); }

int Readers(const Schedule& schedule, const Buffer& buffer, bool* reduced) {
  int readers = 0;
  for (const Schedule::StageInfo& stage : schedule.stages()) {
    if (!Reads(stage, buffer)) continue;
    ++readers;
    *reduced = *reduced || stage.op.combiner != Combiner::kNone;
  }
  return readers;
}

}  // namespace

void InlineElementwise(Schedule& schedule, const std::vector<StageId>& kept) {
  const std::vector<StageId> order = schedule.order();
  for (const StageId id : order) {
    const Schedule::StageInfo& stage = schedule.stage(id);
    if (id == order.back() || stage.op.combiner != Combiner::kNone) continue;
    if (std::ranges::find(kept, id) != kept.end() || FeedsArgReduction(schedule, id)) continue;
    bool reduced = false;
    const int readers = Readers(schedule, stage.op.output, &reduced);
    if (IsExpensive(stage.op.body) && (readers > 1 || reduced)) continue;
    schedule.ComputeInline(id);
  }
}

namespace {

/// Returns the reduction that `stage` finishes element by element; index -1 if there is none.
StageId ReductionBehind(const Schedule& schedule, StageId stage) {
  const ComputeOp& op = schedule.stage(stage).op;
  StageId found;
  bool aligned = true;
  ForEachNode(op.body, [&](const Expr& node) {
    if (node->kind != ExprKind::kLoad) return;
    const StageId producer = schedule.ProducerOf(node->buffer);
    if (producer.index < 0) return;
    if (schedule.stage(producer).op.combiner == Combiner::kNone || found.index >= 0) {
      aligned = false;
      return;
    }
    found = producer;
    aligned = aligned && !node->args.empty();  // a single number is computed once
    for (std::size_t d = 0; d < node->args.size(); ++d) {
      aligned = aligned && node->args[d].Same(op.axes[d].var);
    }
  });
  if (!aligned || found.index < 0) return {};
  bool reduced = false;
  return Readers(schedule, schedule.stage(found).op.output, &reduced) == 1 ? found : StageId();
}

/// Whether windows reach into padding in the same way for all elements of a vector along the axis.
bool IsPaddedBeside(const ComputeOp& op, const Expr& along) {
  std::vector<Expr> conditions;
  StripPaddedTaps(op, &conditions);
  return !conditions.empty() && std::ranges::none_of(conditions, [&](const Expr& condition) {
    return Contains(condition, along);
  });
}

/// Computes the sums of a few neighbouring results at a time in registers, inside the stage that
/// writes them. The sums are independent, which hides latencies.
void ScheduleReduction(Schedule& schedule, StageId reduction, StageId result,
                       const FlatChoices& choices, const Target& target) {
  const FlatLoops loops = ScheduleFlat(schedule, result, choices.lanes, target, choices.tile);
  if (loops.innermost.index < 0) return;
  schedule.SetScope(reduction, Scope::kLocal);
  schedule.ComputeAt(reduction, result, loops.innermost);
  const ComputeOp& op = schedule.stage(reduction).op;
  const int axes = static_cast<int>(op.axes.size());
  const int vector_axis = InnermostAxis(op);
  const int reductions = static_cast<int>(op.reduce_axes.size());
  std::vector<LoopId> order;
  for (int i = 0; i < reductions; ++i) order.push_back(schedule.ReductionAxis(reduction, i));
  for (int i = vector_axis + 1; i < axes; ++i) order.push_back(schedule.SpatialAxis(reduction, i));
  for (int i = 0; i <= vector_axis; ++i) order.push_back(schedule.SpatialAxis(reduction, i));
  schedule.Reorder(reduction, order);
  const LoopId inner = schedule.ReductionAxis(reduction, reductions - 1);
  if (schedule.Extent(inner) <= choices.unroll) schedule.Unroll(reduction, inner);
  if (vector_axis > 0) schedule.Unroll(reduction, schedule.SpatialAxis(reduction, vector_axis - 1));
  schedule.Vectorize(reduction, schedule.SpatialAxis(reduction, vector_axis));
  const Expr& along = op.axes[static_cast<std::size_t>(vector_axis)].var;
  if (IsPaddedBeside(op, along)) schedule.SkipZeroTaps(reduction);
}

/// Returns the reduction that the result only finishes, or a local copy of the result if that is a
/// reduction.
StageId FinishedReduction(Schedule& schedule) {
  const StageId result = schedule.order().back();
  const bool reduces = schedule.stage(result).op.combiner != Combiner::kNone;
  return reduces ? schedule.CacheWrite(result, Scope::kLocal) : ReductionBehind(schedule, result);
}

}  // namespace

namespace {

/// Whether one thread ends before others start: starting them takes half a microsecond and more.
bool IsShort(const Compute& compute) {
  constexpr std::int64_t kMaxElements = 8192;
  constexpr std::int64_t kElementsOfCall = 8;
  std::int64_t work = 0;
  for (const ComputeOp& op : compute.stages) {
    std::int64_t elements = op.output->elements();
    for (const Axis& axis : op.reduce_axes) elements *= axis.extent;
    work += elements * (IsExpensive(op.body) ? kElementsOfCall : 1);
  }
  return work <= kMaxElements;
}

}  // namespace

Result<Schedule> FlatSchedule(Compute compute, const Target& whole_target,
                              const FlatChoices& given) {
  Target target = whole_target;
  if (IsShort(compute)) target.SetOption("num-threads", "1");
  TW_ASSIGN_OR_RETURN(const CpuFeatures features, FeaturesOf(target));
  FlatChoices choices = given;
  if (choices.lanes == 0) choices.lanes = features.float_lanes();
  Schedule schedule(std::move(compute));
  if (choices.rows) {
    if (auto rows = RowSchedule(schedule, choices.lanes, target)) return *std::move(rows);
  }
  InlineElementwise(schedule);
  const StageId result = schedule.order().back();
  const StageId reduction = FinishedReduction(schedule);
  const std::vector<StageId> order = schedule.order();
  for (const StageId id : order) {
    if (schedule.stage(id).attach == Schedule::Attach::kInline || id == reduction) continue;
    if (id == result && reduction.index >= 0) {
      ScheduleReduction(schedule, reduction, result, choices, target);
    } else {
      const int across = choices.across ? AcrossAxis(schedule.stage(id).op, choices.lanes) : -1;
      ScheduleFlat(schedule, id, choices.lanes, target, choices.repeat, across);
    }
  }
  TW_RETURN_IF_ERROR(schedule.status());
  return schedule;
}

Result<Schedule> FixedSchedule(Compute compute, const Target& target) {
  if (!DeviceTraitsOf(target).launches_grids) return FlatSchedule(std::move(compute), target, {});
  Schedule schedule(std::move(compute));
  InlineElementwise(schedule);
  ScheduleFixedGrid(schedule, FinishedReduction(schedule));
  TW_RETURN_IF_ERROR(schedule.status());
  return schedule;
}

}  // namespace tilewright
