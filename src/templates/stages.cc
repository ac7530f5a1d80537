#include "src/templates/stages.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "src/base/math.h"

namespace tilewright {
namespace {

std::int64_t FloorPowerOfTwo(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
}

}  // namespace

AnchorStages PrepareStages(Schedule& schedule) {
  AnchorStages stages;
  stages.has_pad = schedule.HasStage("pad");
  if (stages.has_pad) stages.pad = schedule.Stage("pad");
  const StageId reduce = schedule.Stage("reduce");
  if (schedule.HasStage("output")) {
    stages.sum = reduce;
    stages.result = schedule.Stage("output");
    schedule.SetScope(reduce, Scope::kLocal);
  } else {
    stages.sum = schedule.CacheWrite(reduce, Scope::kLocal);
    stages.result = reduce;
  }
  return stages;
}

LoopId FuseAll(Schedule& schedule, StageId stage, const std::vector<LoopId>& loops) {
  LoopId fused = loops.front();
  for (std::size_t i = 1; i < loops.size(); ++i) fused = schedule.Fuse(stage, fused, loops[i]);
  return fused;
}

void ParallelFor(Schedule& schedule, StageId stage, LoopId loop, const Target& target) {
  if (target.num_threads() > 1) schedule.Parallel(stage, loop);
}

FlatLoops ScheduleFlat(Schedule& schedule, StageId stage, std::int64_t lanes, const Target& target,
                       std::int64_t tile, int across) {
  std::vector<LoopId> outer = schedule.Leaves(stage);
  outer.resize(std::min(schedule.stage(stage).op.axes.size(), outer.size()));
  FlatLoops loops;
  if (outer.empty()) return loops;
  LoopId last = outer.back();
  outer.pop_back();
  LoopId rows;
  if (across >= 0) {
    LoopId& axis = outer[static_cast<std::size_t>(across)];
    const std::int64_t count = std::min(lanes, FloorPowerOfTwo(schedule.Extent(axis)));
    std::tie(axis, rows) = schedule.Split(stage, axis, count, Tail::kPeel);
  }
  if (schedule.Extent(last) > lanes) {
    const auto [chunks, lane] = schedule.Split(stage, last, lanes, Tail::kPeel);
    outer.push_back(chunks);
    last = lane;
  }
  if (schedule.Extent(last) > 1) {
    std::vector<LoopId> inner;
    for (LoopId loop : schedule.Leaves(stage)) {
      if (schedule.loop(loop).reduction) inner.push_back(loop);
    }
    if (rows.index >= 0) {
      inner.insert(inner.begin(), outer.begin(), outer.end());
      inner.push_back(rows);
      schedule.Unroll(stage, rows);
    }
    inner.push_back(last);
    schedule.Reorder(stage, inner);
    schedule.Vectorize(stage, last);
  }
  if (tile > 1 && !outer.empty()) {
    const auto [steps, inside] = schedule.Split(stage, outer.back(), tile, Tail::kPeel);
    schedule.Unroll(stage, inside);
    outer.back() = steps;
  }
  if (outer.empty()) return loops;
  loops.innermost = outer.back();
  if (target.num_threads() == 1) return loops;
  // Loops are fused only as far as the threads need it: the index of a fused one costs divisions.
  std::int64_t iterations = 1;
  std::size_t fused = 0;
  constexpr std::int64_t kIterationsPerThread = 4;
  while (fused < outer.size() && iterations < kIterationsPerThread * target.num_threads()) {
    iterations *= schedule.Extent(outer[fused++]);
  }
  outer.resize(fused);
  const bool all = outer.back() == loops.innermost;
  const LoopId parallel = FuseAll(schedule, stage, outer);
  schedule.Parallel(stage, parallel);
  if (all) loops.innermost = parallel;
  return loops;
}

}  // namespace tilewright
