#include "src/templates/cuda/block_tiles.h"

#include <tuple>
#include <utility>

#include "src/base/math.h"
#include "src/schedule/launch.h"
#include "src/target/gpu.h"
#include "src/templates/limits.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

/// Distributes the iterations of a loop over the threads, neighbouring iterations to neighbouring
/// threads.
void Interleave(Schedule& schedule, StageId stage, LoopId rest, const BlockThreads& threads) {
  std::array<LoopId, 3> loops;
  for (std::size_t i = threads.size(); i-- > 0;) {
    std::tie(rest, loops[i]) = schedule.Split(stage, rest, threads[i]);
  }
  BindThreadLoops(schedule, stage, loops);
}

}  // namespace

std::string RefusesPlainTypes(const Workload& w, const Target& target) {
  if (!IsFloat32(w) && !IsFloat16(w) && !IsInt8(w)) {
    return "only float32, float16 summed in float32, or 8-bit summed in int32";
  }
  return ComputeCapabilityOf(target).status().message();
}

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

Result<BoundTiles> TilePlane(Schedule& schedule, StageId stage,
                             const std::vector<std::int64_t>& row_factors,
                             const std::vector<std::int64_t>& column_factors, bool rows_along_x) {
  TiledAxis y = TileAxis(schedule, stage, schedule.SpatialAxis(stage, 0), row_factors);
  TiledAxis x = TileAxis(schedule, stage, schedule.SpatialAxis(stage, 1), column_factors);
  BlockThreads threads = {1, row_factors[2], column_factors[2]};
  if (rows_along_x) {
    std::swap(y, x);
    std::swap(threads[1], threads[2]);
  }
  OrderTiles(schedule, stage, {y, x});
  schedule.Bind(stage, y.block, LoopKind::kBlockY);
  schedule.Bind(stage, x.block, LoopKind::kBlockX);
  schedule.Bind(stage, y.thread, LoopKind::kThreadY);
  schedule.Bind(stage, x.thread, LoopKind::kThreadX);
  TW_RETURN_IF_ERROR(CheckBlock(threads));
  return BoundTiles{y.block, x.thread, threads};
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

Result<BoundTiles> TileImages(Schedule& schedule, StageId result, const Config& config) {
  std::vector<TiledAxis> axes;
  for (const char* name : {"tile_n", "tile_f", "tile_y", "tile_x"}) {
    const LoopId axis = schedule.SpatialAxis(result, static_cast<int>(axes.size()));
    axes.push_back(TileAxis(schedule, result, axis, config.Factors(name)));
  }
  OrderTiles(schedule, result, axes);
  const LoopId pixels = schedule.Fuse(result, axes[2].block, axes[3].block);
  BindBlockLoops(schedule, result, {axes[0].block, axes[1].block, pixels});
  const ThreadDistribution threads =
      DistributeThreads(schedule, result, axes, config.Integer("fuse_yx") != 0);
  TW_RETURN_IF_ERROR(CheckBlock(threads.counts));
  return BoundTiles{axes[0].block, threads.loops[2], threads.counts};
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

LoopId SpreadOverThreads(Schedule& schedule, StageId stage, const std::vector<LoopId>& outer,
                         std::int64_t threads) {
  const auto [block, thread] = schedule.Split(stage, FuseAll(schedule, stage, outer), threads);
  schedule.Bind(stage, block, LoopKind::kBlockX);
  schedule.Bind(stage, thread, LoopKind::kThreadX);
  return thread;
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

Result<ConfigSpace> SpaceWithUnroll(std::vector<Result<Knob>> knobs, const Target& target,
                                    std::vector<std::int64_t> steps,
                                    std::vector<Result<Knob>> last) {
  // AutoTVM's nvptx target leaves no unrolling to the compiler of the device.
  const bool only_explicit = target.kind_name() == "nvptx";
  knobs.push_back(Knob::Other("auto_unroll_max_step", std::move(steps)));
  knobs.push_back(Knob::Other("unroll_explicit", only_explicit ? std::vector<std::int64_t>{1}
                                                               : std::vector<std::int64_t>{0, 1}));
  for (Result<Knob>& knob : last) knobs.push_back(std::move(knob));
  return MakeSpace(std::move(knobs));
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

Status CheckBlock(const BlockThreads& threads, const LaunchLimits& limits) {
  Launch launch;
  launch.block = {threads[2], threads[1], threads[0]};
  return CheckLaunch(launch, limits);
}

Result<BlockThreads> BlockThreadsOf(const Config& config, const Target& target,
                                    const std::array<const char*, 3>& knobs) {
  BlockThreads threads;
  for (std::size_t i = 0; i < threads.size(); ++i) threads[i] = config.Factors(knobs[i])[2];
  TW_RETURN_IF_ERROR(CheckBlock(threads, LowerLimitsFor(target).launch));
  return threads;
}

}  // namespace tilewright
