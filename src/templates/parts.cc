#include "src/templates/parts.h"

#include <algorithm>

#include "src/base/math.h"

namespace tilewright {

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

std::int64_t LargestDivisor(std::int64_t extent, std::int64_t limit) {
  for (std::int64_t d = std::min(extent, limit); d > 1; --d) {
    if (extent % d == 0) return d;
  }
  return 1;
}

std::vector<std::int64_t> ThriftyTiles(std::int64_t extent, std::int64_t limit) {
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = 1; tile <= std::min(extent, limit); ++tile) {
    const bool smallest = tile == 1 || CeilDiv(extent, tile) != CeilDiv(extent, tile - 1);
    if (smallest) tiles.push_back(tile);
  }
  return tiles;
}

KnobValue InnerFactor(std::int64_t extent, std::int64_t inner) {
  return KnobValue{std::vector<std::int64_t>{CeilDiv(extent, inner), inner}};
}

Result<Config> LocateValues(const ConfigSpace& space,
                            std::vector<std::pair<std::string, KnobValue>> values) {
  Config config;
  config.values = std::move(values);
  return space.Locate(config);
}

Result<ConfigSpace> MakeSpace(std::vector<Result<Knob>> knobs) {
  ConfigSpace space;
  for (Result<Knob>& knob : knobs) {
    TW_RETURN_IF_ERROR(knob);
    TW_RETURN_IF_ERROR(space.Add(*std::move(knob)));
  }
  return space;
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
                       std::int64_t tile) {
  std::vector<LoopId> outer = schedule.Leaves(stage);
  outer.resize(std::min(schedule.stage(stage).op.axes.size(), outer.size()));
  FlatLoops loops;
  if (outer.empty()) return loops;
  LoopId last = outer.back();
  outer.pop_back();
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

bool IsFlatConvolution(const ConvShape& s) {
  return s.r == 1 && s.s == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_top == 0 &&
         s.pad_left == 0 && s.pad_bottom == 0 && s.pad_right == 0;
}

Workload PlainConvolution(const Workload& w, const ConvShape& s, bool flat) {
  Workload plain = w;
  plain.data_layout = "NCHW";
  plain.kernel_layout = "OIHW";
  plain.data.shape = {s.n, s.c, flat ? 1 : s.h, flat ? s.h * s.w : s.w};
  plain.weight.shape = {s.k, s.c / s.groups, s.r, s.s};
  return plain;
}

bool IsFloat32(const Workload& w) {
  return w.data.dtype == kFloat32 && w.weight.dtype == kFloat32 && w.out_dtype == kFloat32;
}

bool IsFloat16(const Workload& w) {
  return w.data.dtype == kFloat16 && w.weight.dtype == kFloat16;
}

bool IsInt8(const Workload& w) {
  return (w.data.dtype == kInt8 || w.data.dtype == kUInt8) && w.weight.dtype == kInt8 &&
         w.out_dtype == kInt32;
}

bool IsPlainNchw(const Workload& w) { return w.data_layout == "NCHW" && w.kernel_layout == "OIHW"; }

std::string Blocked(const std::string& layout, std::int64_t block, char dimension) {
  return layout + std::to_string(block) + dimension;
}

}  // namespace tilewright
