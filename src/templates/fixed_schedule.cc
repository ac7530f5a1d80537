#include <algorithm>
#include <vector>

#include "src/ir/visit.h"
#include "src/templates/parts.h"

namespace tilewright {
namespace {

bool Loads(const ComputeOp& reader, const Buffer& buffer) {
  bool loads = false;
  ForEachNode(reader.body, [&](const Expr& node) {
    loads = loads || (node->kind == ExprKind::kLoad && node->buffer == buffer);
  });
  return loads;
}

/// True if computing the value again for every use would cost more than storing it.
bool IsExpensive(const Expr& value) {
  bool expensive = false;
  ForEachNode(value, [&](const Expr& node) {
    expensive = expensive || node->kind == ExprKind::kCall;
  });
  return expensive;
}

int Readers(const Schedule& schedule, const Buffer& buffer, bool* reduced) {
  int readers = 0;
  for (const Schedule::StageInfo& stage : schedule.stages()) {
    if (!Loads(stage.op, buffer)) continue;
    ++readers;
    *reduced = *reduced || stage.op.combiner != Combiner::kNone;
  }
  return readers;
}

void InlineElementwise(Schedule& schedule) {
  const std::vector<StageId> order = schedule.order();
  for (const StageId id : order) {
    const Schedule::StageInfo& stage = schedule.stage(id);
    if (id == order.back() || stage.op.combiner != Combiner::kNone) continue;
    bool reduced = false;
    const int readers = Readers(schedule, stage.op.output, &reduced);
    if (IsExpensive(stage.op.body) && (readers > 1 || reduced)) continue;
    schedule.ComputeInline(id);
  }
}

}  // namespace

Result<Schedule> FixedSchedule(Compute compute, const Target& target) {
  auto features = FeaturesOf(target);
  TW_RETURN_IF_ERROR(features);
  Schedule schedule(std::move(compute));
  InlineElementwise(schedule);
  const std::vector<StageId> order = schedule.order();
  for (const StageId id : order) {
    if (schedule.stage(id).attach == Schedule::Attach::kInline) continue;
    ScheduleFlat(schedule, id, features->float_lanes(), target);
  }
  TW_RETURN_IF_ERROR(schedule.status());
  return schedule;
}

}  // namespace tilewright
