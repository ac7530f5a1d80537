// AutoTVM's convolutions of one group, and depthwise ones, for CUDA. Each thread sums a tile of the
// result in registers. The data and weights of a block are copied to shared memory: for each step
// of the reduction or, in the depthwise template, once.

#include "src/templates/cuda/templates.h"

#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace conv2d_nchw_cuda {
namespace {

constexpr std::array kTiles = {"tile_f", "tile_y", "tile_x"};

constexpr KnobDoc kDirectKnobs[] = {
    {"tile_f",
     "Output channels: blocks, virtual threads, threads of a block, channels of one thread."},
    kTileRowsDoc,
    kTileColumnsDoc,
    {"tile_rc", "Input channels: steps, channels that are copied to shared memory at once."},
    {"tile_ry", "Kernel rows: steps, rows that are copied to shared memory at once."},
    {"tile_rx", "Kernel columns: steps, columns that are copied to shared memory at once."},
    kUnrollStepsDoc,
    kUnrollExplicitDoc,
};

constexpr KnobDoc kDepthwiseKnobs[] = {
    {"tile_f", "Channels: blocks, virtual threads, threads of a block, channels of one thread."},
    kTileRowsDoc,
    kTileColumnsDoc,
    kUnrollStepsDoc,
    kUnrollExplicitDoc,
};

/// Tiles channels, rows and columns of the result, with the images before the blocks of channels,
/// and computes the sum in the innermost thread loop. Returns the innermost block loop.
LoopId TileResult(Schedule& s, const GpuStages& stages, const Config& config) {
  const StageId result = stages.result;
  std::array<TiledAxis, 3> axes;
  for (int i = 0; i < 3; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    axes[slot] = TileAxis(s, result, s.SpatialAxis(result, i + 1), config.Factors(kTiles[slot]));
  }
  axes[0].block = s.Fuse(result, s.SpatialAxis(result, 0), axes[0].block);
  const LoopId thread = BindTiles(s, result, axes);
  PragmaUnroll(s, result, axes[0].block, config);
  s.ComputeAt(stages.sum, result, thread);
  return axes[2].block;
}

/// Values of the knobs that tile the result. sums: whether a thread sums several channels.
std::vector<std::pair<std::string, KnobValue>> DefaultTiles(const ConvShape& s, bool sums,
                                                            std::int64_t unroll_steps) {
  const ConvTile tile = DefaultConvTile(s.k, s.oh, s.ow);
  return {{"tile_f", ThreadsAndInner(s.k, tile.f, sums ? tile.sums : 1)},
          {"tile_y", ThreadsAndInner(s.oh, tile.y, 1)},
          {"tile_x", ThreadsAndInner(s.ow, tile.x, 1)},
          {"auto_unroll_max_step", KnobValue{unroll_steps}},
          {"unroll_explicit", KnobValue{std::int64_t{1}}}};
}

std::string RefusesDirect(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d || w.groups != 1) return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  return RefusesPlainTypes(w, target);
}

Result<ConfigSpace> DirectSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  return SpaceWithUnroll({Knob::Split("tile_f", s.k, 4), Knob::Split("tile_y", s.oh, 4),
                          Knob::Split("tile_x", s.ow, 4), Knob::Split("tile_rc", s.c, 2),
                          Knob::Split("tile_ry", s.r, 2), Knob::Split("tile_rx", s.s, 2)},
                         target, {0, 512, 1500});
}

Result<Config> DirectDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DirectSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  constexpr std::int64_t kMaxStaged = 8;  // channels
  auto values = DefaultTiles(s, true, 512);
  values.insert(values.end(), {{"tile_rc", InnerFactor(s.c, LargestDivisor(s.c, kMaxStaged))},
                               {"tile_ry", InnerFactor(s.r, s.r)},
                               {"tile_rx", InnerFactor(s.s, s.s)}});
  return LocateValues(space, std::move(values));
}

Result<Kernel> ApplyDirect(const Workload& w, const Epilogue& epilogue, const Target& target,
                           const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto threads, BlockThreadsOf(config, target, kTiles));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  TileResult(s, stages, config);
  const LoopId step = OrderReduction(
      s, stages.sum,
      {config.Factors("tile_rc"), config.Factors("tile_ry"), config.Factors("tile_rx")});
  for (const StageId copy : {stages.data, stages.weight}) {
    s.ComputeAt(copy, stages.sum, step);
    FetchInRuns(s, copy, threads);
  }
  return FinishKernel(std::move(s));
}

std::string RefusesDepthwise(const Workload& w, const Target& target) {
  if (w.op_name() != "depthwise_conv2d") return "only depthwise convolutions";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  return RefusesPlainTypes(w, target);
}

Result<ConfigSpace> DepthwiseSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  return SpaceWithUnroll({Knob::Split("tile_f", s.k, 4), Knob::Split("tile_y", s.oh, 4),
                          Knob::Split("tile_x", s.ow, 4)},
                         target, {0, 256, 1500});
}

Result<Config> DepthwiseDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DepthwiseSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  return LocateValues(space, DefaultTiles(s, false, 256));
}

Result<Kernel> ApplyDepthwise(const Workload& w, const Epilogue& epilogue, const Target& target,
                              const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto threads, BlockThreadsOf(config, target, kTiles));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId sum = stages.sum;
  std::vector<StageId> copies;
  for (const StageId shared : {stages.data, stages.weight}) {
    copies.push_back(s.CacheRead(s.stage(shared).op.name, Scope::kLocal, sum));
  }
  const LoopId block = TileResult(s, stages, config);
  for (const StageId copy : copies) s.ComputeAt(copy, sum, s.SpatialAxis(sum, 0));
  for (const StageId shared : {stages.data, stages.weight}) {
    s.ComputeAt(shared, stages.result, block);
    FetchInterleaved(s, shared, threads);
  }
  return FinishKernel(std::move(s));
}

}  // namespace
}  // namespace conv2d_nchw_cuda

TemplateEntry Conv2dNchwCudaEntry() {
  using namespace conv2d_nchw_cuda;
  return LoopTemplate("conv2d_nchw.cuda", 2, "cuda", kDirectKnobs, &RefusesDirect, &DirectSpace,
                      &DirectDefault, &ApplyDirect);
}

TemplateEntry DepthwiseConv2dNchwCudaEntry() {
  using namespace conv2d_nchw_cuda;
  return LoopTemplate("depthwise_conv2d_nchw.cuda", 2, "cuda", kDepthwiseKnobs, &RefusesDepthwise,
                      &DepthwiseSpace, &DepthwiseDefault, &ApplyDepthwise);
}

}  // namespace tilewright
