#include "src/templates/cuda/templates.h"

#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace group_conv2d_nchw_cuda {
namespace {
std::string Refuses(const Workload& w, const Target& target) {
  if (w.op_name() != "group_conv2d") return "only convolutions of groups, not depthwise";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  return RefusesPlainTypes(w, target);
}

constexpr KnobDoc kKnobs[] = {
    kTileImagesDoc,
    {"tile_g", "Groups: blocks, virtual threads."},
    {"tile_f",
     "Output channels of a group: blocks, virtual threads, threads of a block, channels of one"
     " thread."},
    kTileRowsDoc,
    kTileColumnsDoc,
    {"tile_rc",
     "Input channels of a group: steps, channels that are copied to shared memory at once."},
    {"tile_ry",
     "Kernel columns: steps, columns that are copied to shared memory at once. AutoTVM names "
     "tile_ry and tile_rx this way round."},
    {"tile_rx", "Kernel rows: steps, rows that are copied to shared memory at once."},
    kUnrollStepsDoc,
    kUnrollExplicitDoc,
    kFuseYxDoc,
};

Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  return SpaceWithUnroll({Knob::Split("tile_n", s.n, 4), Knob::Split("tile_g", s.groups, 2),
                          Knob::Split("tile_f", s.k / s.groups, 4), Knob::Split("tile_y", s.oh, 4),
                          Knob::Split("tile_x", s.ow, 4), Knob::Split("tile_rc", s.c / s.groups, 2),
                          Knob::Split("tile_ry", s.r, 2), Knob::Split("tile_rx", s.s, 2)},
                         target, {0, 512, 1500}, {Knob::Other("fuse_yx", {0, 1})});
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  constexpr std::int64_t kMaxStaged = 8;  // channels
  const std::int64_t channels = s.k / s.groups, inputs = s.c / s.groups;
  const ConvTile tile = DefaultConvTile(channels, s.oh, s.ow);
  return LocateValues(space, {{"tile_n", ThreadsAndInner(s.n, 1, 1)},
                              {"tile_g", InnerFactor(s.groups, 1)},
                              {"tile_f", ThreadsAndInner(channels, tile.f, tile.sums)},
                              {"tile_y", ThreadsAndInner(s.oh, tile.y, 1)},
                              {"tile_x", ThreadsAndInner(s.ow, tile.x, 1)},
                              {"tile_rc", InnerFactor(inputs, LargestDivisor(inputs, kMaxStaged))},
                              {"tile_ry", InnerFactor(s.r, 1)},
                              {"tile_rx", InnerFactor(s.s, 1)},
                              {"auto_unroll_max_step", KnobValue{std::int64_t{512}}},
                              {"unroll_explicit", KnobValue{std::int64_t{1}}},
                              {"fuse_yx", KnobValue{std::int64_t{0}}}});
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target&,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;

  const auto [group, channel] =
      s.Split(result, s.SpatialAxis(result, 1), w.weight.shape[0] / w.groups);
  const std::vector<std::int64_t>& groups = config.Factors("tile_g");
  const std::vector<TiledAxis> axes = {
      TileAxis(s, result, s.SpatialAxis(result, 0), config.Factors("tile_n")),
      TileAxis(s, result, group, {groups[0], groups[1], 1, 1}),
      TileAxis(s, result, channel, config.Factors("tile_f")),
      TileAxis(s, result, s.SpatialAxis(result, 2), config.Factors("tile_y")),
      TileAxis(s, result, s.SpatialAxis(result, 3), config.Factors("tile_x"))};
  OrderTiles(s, result, axes);
  const LoopId channels = s.Fuse(result, axes[1].block, axes[2].block);
  const LoopId pixels = s.Fuse(result, axes[3].block, axes[4].block);
  BindBlockLoops(s, result, {axes[0].block, channels, pixels});
  const ThreadDistribution threads =
      DistributeThreads(s, result, axes, config.Integer("fuse_yx") != 0);
  TW_RETURN_IF_ERROR(CheckBlock(threads.counts));
  PragmaUnroll(s, result, axes[0].block, config);

  s.ComputeAt(sum, result, threads.loops[2]);
  const LoopId step = OrderReduction(
      s, sum, {config.Factors("tile_rc"), config.Factors("tile_rx"), config.Factors("tile_ry")});
  for (const StageId copy : {stages.data, stages.weight}) {
    s.ComputeAt(copy, sum, step);
    FetchInterleaved(s, copy, threads.counts);
  }
  return FinishKernel(std::move(s));
}

}  // namespace
}  // namespace group_conv2d_nchw_cuda

TemplateEntry GroupConv2dNchwCudaEntry() {
  using namespace group_conv2d_nchw_cuda;
  return LoopTemplate("group_conv2d_nchw.cuda", 2, "cuda", kKnobs, &Refuses, &DefineSpace,
                      &DefaultConfig, &Apply);
}

}  // namespace tilewright
