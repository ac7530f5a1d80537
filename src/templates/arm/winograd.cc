// AutoTVM's Winograd convolution for Arm CPUs: F(4x4, 3x3). First the data are transformed, in
// blocks of tiles. Then, for each block of output channels, the products of all tiles are summed in
// memory of the thread, and transformed back tile by tile with the epilogue. The weight is
// transformed when it is packed.

#include "src/templates/arm/templates.h"

#include "src/templates/annotations.h"
#include "src/templates/arm/arm_target.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"
#include "src/tensor/compute/winograd.h"

namespace tilewright {
namespace winograd_arm {
namespace {

constexpr std::int64_t kTile = 4, kKernel = 3, kMaxFactor = 16, kMaxUnroll = 16;

constexpr KnobDoc kKnobs[] = {
    {"tile_p",
     "Winograd tiles: blocks, tiles of one block. A block of tiles is one vector of the"
     " transformed data."},
    {"tile_k", "Output channels: blocks, channels of one block."},
    {"tile_c", "Input channels: steps, channels of one step."},
    {"ann_reduce", "Loop over the channels of a step: `unroll`, or `none`."},
    {"ann_spatial",
     "Loops over the channels of a block and the tiles of a block: `unroll`, `vec`, or `none`. The"
     " loop with `vec` is innermost."},
};

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d || w.groups != 1) return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (!IsFloat32(w)) return "only float32";
  if (w.weight.shape[2] != kKernel || w.weight.shape[3] != kKernel) {
    return "only kernels of 3 x 3";
  }
  constexpr std::array<std::int64_t, 2> kOne = {1, 1};
  if (w.strides != kOne || w.dilation != kOne) return "only without strides and dilation";
  return RefusesForArm(w, target);
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  const std::int64_t tiles = WinogradTilesOf(s, kTile).count;
  return MakeSpace({Knob::Split("tile_p", tiles, 2, {.max_factor = kMaxFactor}),
                    Knob::Split("tile_k", s.k, 2, {.max_factor = kMaxFactor}),
                    Knob::Split("tile_c", s.c, 2, {.max_factor = kMaxFactor}),
                    AnnotateKnob("ann_reduce", {"none", "unroll"}, 1),
                    AnnotateKnob("ann_spatial", {"none", "unroll", "vec"}, 2)});
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  constexpr std::int64_t kTiles = 8, kOutputs = 4, kInputs = 8;
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  const std::int64_t tiles = WinogradTilesOf(s, kTile).count;
  return LocateValues(space,
                      {{"tile_p", InnerFactor(tiles, LargestDivisor(tiles, kTiles))},
                       {"tile_k", InnerFactor(s.k, LargestDivisor(s.k, kOutputs))},
                       {"tile_c", InnerFactor(s.c, LargestDivisor(s.c, kInputs))},
                       {"ann_reduce", KnobValue{std::vector<std::string>{"unroll"}}},
                       {"ann_spatial", KnobValue{std::vector<std::string>{"unroll", "vec"}}}});
}

void ScheduleData(Schedule& s, const Target& target) {
  const StageId transform = s.Stage("data_transform"), rows = s.Stage("rows"),
                window = s.Stage("window");
  if (s.HasStage("pad")) s.ComputeInline(s.Stage("pad"));
  const LoopId e = s.SpatialAxis(transform, 0), f = s.SpatialAxis(transform, 1),
               block = s.SpatialAxis(transform, 2), channel = s.SpatialAxis(transform, 3),
               tile = s.SpatialAxis(transform, 4);
  s.Reorder(transform, {block, channel, e, f, tile});
  s.Unroll(transform, e);
  s.Unroll(transform, f);
  s.Vectorize(transform, tile);
  s.SetScope(rows, Scope::kLocal);
  s.ComputeAt(rows, transform, channel);
  s.Unroll(rows, s.SpatialAxis(rows, 2));
  s.Unroll(rows, s.SpatialAxis(rows, 3));
  s.Vectorize(rows, s.SpatialAxis(rows, 4));
  s.SetScope(window, Scope::kLocal);
  s.ComputeAt(window, transform, channel);
  ParallelFor(s, transform, block, target);
}

void ScheduleProducts(Schedule& s, StageId result, LoopId channels, const Config& config) {
  const StageId products = s.Stage("products");
  s.ComputeAt(products, result, channels);
  const LoopId e = s.SpatialAxis(products, 0), f = s.SpatialAxis(products, 1),
               k = s.SpatialAxis(products, 2);
  const auto [block, tile] =
      s.Split(products, s.SpatialAxis(products, 3), config.Factors("tile_p")[1], Tail::kPeel);
  const auto [step, c] =
      s.Split(products, s.ReductionAxis(products, 0), config.Factors("tile_c")[1], Tail::kPeel);
  const auto& words = config.Words("ann_spatial");
  const bool vector_of_channels = words[0] == "vec";
  s.Reorder(products, vector_of_channels ? std::vector<LoopId>{e, f, block, step, c, tile, k}
                                         : std::vector<LoopId>{e, f, block, step, k, c, tile});
  const auto annotate = [&](LoopId loop, const std::string& word, std::int64_t extent) {
    if (extent == 1) return;
    if (word == "vec") s.Vectorize(products, loop);
    if (word == "unroll") s.Unroll(products, loop);
  };
  annotate(k, words[0], config.Factors("tile_k")[1]);
  annotate(tile, words[1], config.Factors("tile_p")[1]);
  annotate(c, config.Words("ann_reduce")[0], config.Factors("tile_c")[1]);
}

/// Keeps a tile of one channel in registers.
void KeepPrivate(Schedule& s, StageId stage, StageId result, LoopId loop, int first_axis) {
  s.SetScope(stage, Scope::kLocal);
  s.ComputeAt(stage, result, loop);
  s.Unroll(stage, s.SpatialAxis(stage, first_axis));
  s.Unroll(stage, s.SpatialAxis(stage, first_axis + 1));
}

void ScheduleResult(Schedule& s, const Config& config, const Target& target) {
  const StageId columns = s.Stage("columns");
  const StageId sums = s.CacheRead("products", Scope::kLocal, columns);
  const StageId result = InlineIntoResult(s);
  const auto [block, channel] =
      s.Split(result, s.SpatialAxis(result, 1), config.Factors("tile_k")[1], Tail::kPeel);
  const auto [row, i] = s.Split(result, s.SpatialAxis(result, 2), kTile);
  const auto [column, j] = s.Split(result, s.SpatialAxis(result, 3), kTile);
  s.Reorder(result, {s.SpatialAxis(result, 0), block, channel, row, column, i, j});
  s.Unroll(result, i);
  s.Unroll(result, j);
  const LoopId channels = s.Fuse(result, s.SpatialAxis(result, 0), block);
  ParallelFor(s, result, channels, target);
  KeepPrivate(s, s.Stage("tile"), result, column, 2);
  KeepPrivate(s, columns, result, column, 2);
  KeepPrivate(s, sums, result, column, 0);
  ScheduleProducts(s, result, channels, config);
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  KernelLayouts layouts;
  layouts.winograd_tile = kTile;
  layouts.spatial_pack.channels = config.Factors("tile_k")[1];
  layouts.spatial_pack.columns = config.Factors("tile_p")[1];
  layouts.weight = Blocked(w.kernel_layout, layouts.spatial_pack.channels, 'o');
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  ScheduleData(s, target);
  ScheduleResult(s, config, target);
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace winograd_arm

TemplateEntry Conv2dWinogradArmEntry() {
  using namespace winograd_arm;
  TemplateEntry entry = LoopTemplate("conv2d_nchw_winograd.arm_cpu", 1, "llvm", kKnobs, &Refuses,
                                     &DefineSpace, &DefaultConfig, &Apply);
  entry.only_reorders_sums = false;
  return entry;
}

}  // namespace tilewright
