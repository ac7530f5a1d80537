// AutoTVM's Winograd convolution for CUDA, in three launches: the tiles of the data are
// transformed, one matrix product is computed for each position of the window, and the results are
// transformed back with the epilogue. The weight is transformed when it is packed. Tiles are 4 x 4
// results if the height of the data is a multiple of 8, else 2 x 2. The knobs are those of the
// matrix product.

#include "src/templates/cuda/templates.h"

#include "src/target/gpu.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/cuda/winograd_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"
#include "src/tensor/compute/winograd.h"

namespace tilewright {
namespace conv2d_nchw_winograd_cuda {
namespace {

// Kernel rows that AutoTVM serves.
constexpr std::int64_t kSmallest = 3, kLargest = 7;
constexpr std::int64_t kLargestWindow = 8;
/// Threads of a block that transform tiles.
constexpr std::int64_t kThreads = 128;

/// Tile size by AutoTVM's rule. rows: of the data.
std::int64_t TileSize(std::int64_t rows) {
  constexpr std::int64_t kLarge = 4, kSmall = 2, kRowsOfLarge = 8;
  return rows % kRowsOfLarge == 0 ? kLarge : kSmall;
}

void ScheduleDataTransform(Schedule& s) {
  const StageId transform = s.Stage("data_transform");
  if (s.HasStage("pad")) s.ComputeInline(s.Stage("pad"));
  const LoopId e = s.SpatialAxis(transform, 0), f = s.SpatialAxis(transform, 1),
               channel = s.SpatialAxis(transform, 2), tile = s.SpatialAxis(transform, 3);
  s.Reorder(transform, {channel, tile, e, f});
  const LoopId thread = SpreadOverThreads(s, transform, {channel, tile}, kThreads);
  s.Unroll(transform, e);
  s.Unroll(transform, f);
  KeepPrivate(s, s.Stage("rows"), transform, thread, {2, 3});
  KeepPrivate(s, s.Stage("window"), transform, thread, {2, 3});
}

void ScheduleProducts(Schedule& s, const Config& config, const BlockThreads& threads) {
  const StageId products = s.Stage("products");
  const StageId sum = s.CacheWrite(products, Scope::kLocal);
  const StageId data = s.CacheRead("data_transform", Scope::kShared, sum);
  const StageId weight = s.CacheRead("weight", Scope::kShared, sum);
  const LoopId position = s.Fuse(products, s.SpatialAxis(products, 0), s.SpatialAxis(products, 1));
  const std::array<TiledAxis, 3> axes = {
      TileAxis(s, products, position, config.Factors("tile_b")),
      TileAxis(s, products, s.SpatialAxis(products, 2), config.Factors("tile_y")),
      TileAxis(s, products, s.SpatialAxis(products, 3), config.Factors("tile_x"))};
  const LoopId thread = BindTiles(s, products, axes);
  PragmaUnroll(s, products, axes[0].block, config);
  s.ComputeAt(sum, products, thread);
  const LoopId step = OrderReduction(s, sum, {config.Factors("tile_rc")});
  for (const StageId copy : {data, weight}) {
    s.ComputeAt(copy, sum, step);
    FetchInterleaved(s, copy, threads);
  }
}

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d || w.groups != 1) return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (!IsFloat32(w)) return "only float32";
  const std::int64_t rows = w.weight.shape[2], columns = w.weight.shape[3];
  if (rows != columns || rows < kSmallest || rows > kLargest) {
    return "only square kernels of 3 to 7 rows";
  }
  if (TileSize(w.data.shape[2]) + rows - 1 > kLargestWindow) {
    return "the transforms of larger windows than 8 x 8 lose too many digits";
  }
  constexpr std::array<std::int64_t, 2> kOne = {1, 1};
  if (w.strides != kOne || w.dilation != kOne) return "only without strides and dilation";
  return ComputeCapabilityOf(target).status().message();
}

constexpr KnobDoc kKnobs[] = {
    {"tile_b",
     "Positions of a Winograd window, one matrix product each: blocks, virtual threads, "
     "threads of a block, positions of one thread. The only value has one block for each "
     "position."},
    {"tile_y",
     "Output channels: blocks, virtual threads, threads of a block, channels of one thread."},
    {"tile_x", "Winograd tiles: blocks, virtual threads, threads of a block, tiles of one thread."},
    {"tile_rc", "Input channels: steps, channels that are copied to shared memory at once."},
    kUnrollStepsDoc,
    kUnrollExplicitDoc,
};

Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const WinogradTiles tiles = WinogradTilesOf(shape, TileSize(shape.h));
  const KnobValue all_blocks{std::vector<std::int64_t>{tiles.window * tiles.window, 1, 1, 1}};
  return SpaceWithUnroll({Knob::Candidates("tile_b", KnobKind::kSplit, {all_blocks}),
                          Knob::Split("tile_y", shape.k, 4), Knob::Split("tile_x", tiles.count, 4),
                          Knob::Split("tile_rc", shape.c, 2)},
                         target, {0, 128, 1500});
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  constexpr std::int64_t kProductThreads = 16, kInner = 4, kMaxStaged = 8;
  const WinogradTiles tiles = WinogradTilesOf(shape, TileSize(shape.h));
  const auto tile = [](std::int64_t extent) {
    const std::int64_t threads = LargestDivisor(extent, kProductThreads);
    return ThreadsAndInner(extent, threads, LargestDivisor(extent / threads, kInner));
  };
  const std::int64_t staged = LargestDivisor(shape.c, kMaxStaged);
  return LocateValues(space, {{"tile_b", ThreadsAndInner(tiles.window * tiles.window, 1, 1)},
                              {"tile_y", tile(shape.k)},
                              {"tile_x", tile(tiles.count)},
                              {"tile_rc", InnerFactor(shape.c, staged)},
                              {"auto_unroll_max_step", KnobValue{std::int64_t{128}}},
                              {"unroll_explicit", KnobValue{std::int64_t{1}}}});
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto threads,
                      BlockThreadsOf(config, target, {"tile_b", "tile_y", "tile_x"}));
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  KernelLayouts layouts;
  layouts.winograd_tile = TileSize(shape.h);
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  ScheduleDataTransform(s);
  ScheduleProducts(s, config, threads);
  ScheduleWinogradResult(s, layouts.winograd_tile, kThreads);
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace conv2d_nchw_winograd_cuda

TemplateEntry Conv2dNchwWinogradCudaEntry() {
  using namespace conv2d_nchw_winograd_cuda;
  TemplateEntry entry = LoopTemplate("conv2d_nchw_winograd.cuda", 2, "cuda", kKnobs, &Refuses,
                                     &DefineSpace, &DefaultConfig, &Apply);
  entry.only_reorders_sums = false;
  return entry;
}

}  // namespace tilewright
