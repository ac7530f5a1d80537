#include "src/templates/cuda/block_tiles.h"

#include <tuple>

#include "src/base/math.h"
#include "src/schedule/launch.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace {

/// Deals the iterations of a loop to the threads, neighbouring ones to neighbours.
void Interleave(Schedule& schedule, StageId stage, LoopId rest, const BlockThreads& threads) {
  std::array<LoopId, 3> loops;
  for (std::size_t i = threads.size(); i-- > 0;) {
    std::tie(rest, loops[i]) = schedule.Split(stage, rest, threads[i]);
  }
  BindThreadLoops(schedule, stage, loops);
}

}  // namespace

TiledAxis TileAxis(Schedule& schedule, StageId stage, LoopId axis,
                   const std::vector<std::int64_t>& factors) {
  const std::vector<LoopId> parts = schedule.SplitBy(stage, axis, factors);
  return {parts[0], parts[1], parts[2], parts[3]};
}

void OrderTiles(Schedule& schedule, StageId stage, const std::vector<TiledAxis>& axes) {
  std::vector<LoopId> order;
  for (LoopId TiledAxis::*part :
       {&TiledAxis::block, &TiledAxis::vthread, &TiledAxis::thread, &TiledAxis::inner}) {
    for (const TiledAxis& axis : axes) order.push_back(axis.*part);
  }
  schedule.Reorder(stage, order);
  for (const TiledAxis& axis : axes) schedule.VirtualThread(stage, axis.vthread);
}

void BindBlockLoops(Schedule& schedule, StageId stage, const std::array<LoopId, 3>& loops) {
  schedule.Bind(stage, loops[0], LoopKind::kBlockZ);
  schedule.Bind(stage, loops[1], LoopKind::kBlockY);
  schedule.Bind(stage, loops[2], LoopKind::kBlockX);
}

void BindThreadLoops(Schedule& schedule, StageId stage, const std::array<LoopId, 3>& loops) {
  schedule.Bind(stage, loops[0], LoopKind::kThreadZ);
  schedule.Bind(stage, loops[1], LoopKind::kThreadY);
  schedule.Bind(stage, loops[2], LoopKind::kThreadX);
}

LoopId BindTiles(Schedule& schedule, StageId stage, const std::array<TiledAxis, 3>& axes) {
  OrderTiles(schedule, stage, {axes.begin(), axes.end()});
  BindBlockLoops(schedule, stage, {axes[0].block, axes[1].block, axes[2].block});
  BindThreadLoops(schedule, stage, {axes[0].thread, axes[1].thread, axes[2].thread});
  return axes[2].thread;
}

LoopId BindPlane(Schedule& schedule, StageId stage, const TiledAxis& y, const TiledAxis& x) {
  OrderTiles(schedule, stage, {y, x});
  schedule.Bind(stage, y.block, LoopKind::kBlockY);
  schedule.Bind(stage, x.block, LoopKind::kBlockX);
  schedule.Bind(stage, y.thread, LoopKind::kThreadY);
  schedule.Bind(stage, x.thread, LoopKind::kThreadX);
  return x.thread;
}

ThreadDistribution DistributeThreads(Schedule& schedule, StageId stage,
                                     const std::vector<TiledAxis>& axes, bool fuse_yx) {
  std::vector<LoopId> rest;
  for (const TiledAxis& axis : axes) rest.push_back(axis.thread);
  const std::size_t count = rest.size();
  const LoopId f = rest[count - 3], y = rest[count - 2], x = rest[count - 1];
  rest.resize(count - (fuse_yx ? 3 : 2));
  ThreadDistribution dealt;
  const LoopId z = FuseAll(schedule, stage, rest);
  if (fuse_yx) {
    dealt.loops = {z, f, schedule.Fuse(stage, y, x)};
  } else {
    dealt.loops = {z, y, x};
  }
  for (std::size_t i = 0; i < 3; ++i) dealt.counts[i] = schedule.Extent(dealt.loops[i]);
  BindThreadLoops(schedule, stage, dealt.loops);
  return dealt;
}

LoopId OrderReduction(Schedule& schedule, StageId sum,
                      const std::vector<std::vector<std::int64_t>>& factors,
                      const std::vector<std::int64_t>& outer) {
  std::vector<LoopId> order, inner;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const LoopId axis = schedule.ReductionAxis(sum, static_cast<int>(i));
    const std::vector<LoopId> parts = schedule.SplitBy(sum, axis, factors[i]);
    order.push_back(parts[0]);
    inner.push_back(parts[1]);
  }
  if (!outer.empty()) {
    const std::vector<LoopId> steps = order;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      order[i] = steps[static_cast<std::size_t>(outer[i])];
    }
  }
  const LoopId step = order.back();
  order.insert(order.end(), inner.begin(), inner.end());
  const int axes = static_cast<int>(schedule.stage(sum).op.axes.size());
  for (int i = 0; i < axes; ++i) order.push_back(schedule.SpatialAxis(sum, i));
  schedule.Reorder(sum, order);
  return step;
}

void FetchInRuns(Schedule& schedule, StageId stage, const BlockThreads& threads) {
  LoopId rest = FuseAll(schedule, stage, schedule.Leaves(stage));
  std::array<LoopId, 3> loops;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    std::tie(loops[i], rest) = schedule.SplitParts(stage, rest, threads[i]);
  }
  BindThreadLoops(schedule, stage, loops);
}

void FetchInterleaved(Schedule& schedule, StageId stage, const BlockThreads& threads) {
  Interleave(schedule, stage, FuseAll(schedule, stage, schedule.Leaves(stage)), threads);
}

void FetchVectors(Schedule& schedule, StageId stage, const BlockThreads& threads,
                  std::int64_t lanes) {
  const auto [parts, lane] = schedule.Split(stage, schedule.Leaves(stage).back(), lanes);
  std::vector<LoopId> outer = schedule.Leaves(stage);
  outer.pop_back();
  Interleave(schedule, stage, FuseAll(schedule, stage, outer), threads);
  schedule.Vectorize(stage, lane);
}

KnobValue ThreadsAndInner(std::int64_t extent, std::int64_t threads, std::int64_t inner) {
  return KnobValue{std::vector<std::int64_t>{CeilDiv(extent, threads * inner), 1, threads, inner}};
}

ConvTile DefaultConvTile(std::int64_t channels, std::int64_t height, std::int64_t width) {
  // A row of threads along x for coalesced reads.
  constexpr std::int64_t kThreads = 128, kThreadsOfRows = 32, kMaxSums = 4;
  ConvTile tile;
  tile.x = LargestDivisor(width, kThreadsOfRows);
  tile.y = LargestDivisor(height, kThreadsOfRows / tile.x);
  tile.f = LargestDivisor(channels, kThreads / (tile.x * tile.y));
  tile.sums = LargestDivisor(channels / tile.f, kMaxSums);
  return tile;
}

std::vector<Result<Knob>> UnrollKnobs(const Target& target, std::vector<std::int64_t> steps) {
  // AutoTVM's nvptx leaves no unrolling to the device's compiler.
  const bool only_explicit = target.kind_name() == "nvptx";
  std::vector<Result<Knob>> knobs;
  knobs.push_back(Knob::Other("auto_unroll_max_step", std::move(steps)));
  knobs.push_back(Knob::Other("unroll_explicit", only_explicit ? std::vector<std::int64_t>{1}
                                                               : std::vector<std::int64_t>{0, 1}));
  return knobs;
}

void PragmaUnroll(Schedule& schedule, StageId stage, LoopId loop, const Config& config) {
  for (const char* name : {"auto_unroll_max_step", "unroll_explicit"}) {
    schedule.Pragma(stage, loop, name, config.Integer(name));
  }
}

GpuStages PrepareGpuStages(Schedule& schedule) {
  const AnchorStages stages = PrepareStages(schedule);
  GpuStages gpu;
  gpu.sum = stages.sum;
  gpu.result = stages.result;
  gpu.data = schedule.CacheRead(stages.has_pad ? "pad" : "data", Scope::kShared, stages.sum);
  gpu.weight = schedule.CacheRead("weight", Scope::kShared, stages.sum);
  if (stages.has_pad) schedule.ComputeInline(stages.pad);
  return gpu;
}

Status CheckBlock(const BlockThreads& threads) {
  Launch launch;
  launch.block = {threads[2], threads[1], threads[0]};
  return CheckLaunch(launch, LaunchLimits());
}

}  // namespace tilewright
