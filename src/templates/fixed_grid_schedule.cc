#include "src/templates/fixed_grid_schedule.h"

#include "src/templates/stages.h"

namespace tilewright {
namespace {

constexpr std::int64_t kThreads = 256;

/// Distributes the elements over threads, neighbouring elements to neighbouring threads. Returns
/// the thread loop; index -1 for a result of one element without axes.
LoopId FuseAndDistribute(Schedule& schedule, StageId stage) {
  const int axes = static_cast<int>(schedule.stage(stage).op.axes.size());
  if (axes == 0) return {};
  std::vector<LoopId> loops;
  for (int i = 0; i < axes; ++i) loops.push_back(schedule.SpatialAxis(stage, i));
  const auto [block, thread] = schedule.Split(stage, FuseAll(schedule, stage, loops), kThreads);
  schedule.Bind(stage, block, LoopKind::kBlockX);
  schedule.Bind(stage, thread, LoopKind::kThreadX);
  return thread;
}

}  // namespace

void ScheduleFixedGrid(Schedule& schedule, StageId reduction) {
  const std::vector<StageId> order = schedule.order();
  const StageId result = order.back();
  for (const StageId id : order) {
    const Schedule::StageInfo& stage = schedule.stage(id);
    if (stage.attach == Schedule::Attach::kInline || stage.library || id == reduction) continue;
    const LoopId thread = FuseAndDistribute(schedule, id);
    if (id != result || reduction.index < 0) continue;
    if (thread.index < 0) {
      schedule.SetScope(reduction,
                        Scope::kGlobal);  // the sum of a single number is a separate launch
      continue;
    }
    schedule.SetScope(reduction, Scope::kLocal);
    schedule.ComputeAt(reduction, result, thread);
  }
}

}  // namespace tilewright
