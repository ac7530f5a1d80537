// AutoTVM's Winograd convolution for Mali, in three launches: the tiles of the data are
// transformed, one matrix product is computed for each position of the window, and the results are
// transformed back with the epilogue. The weight is transformed when it is packed. Tiles are 4 x 4
// results if the height of the data is a multiple of 4, else 2 x 2.

#include "src/templates/annotations.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/cuda/winograd_tiles.h"
#include "src/templates/opencl/templates.h"
#include "src/templates/opencl/work_items.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace winograd_mali {
namespace {

constexpr std::int64_t kKernel = 3, kMaxItems = 128, kMaxStep = 8;

constexpr KnobDoc kKnobs[] = {
    {"tile_bna", "Output channels of one work-item of the products, which are unrolled."},
    {"tile_bnb",
     "Winograd tiles of one work-item of the products, which are a vector. The last block of tiles"
     " is padded with zeros."},
    {"tile_t1",
     "The second factor is the work-items of a group that transforms tiles of the data. The first"
     " one has no meaning."},
    {"tile_t2",
     "The second factor is the work-items of a group that transforms tiles of the result. The"
     " first one has no meaning."},
    {"c_unroll", "Input channels: steps, channels of one step, which are unrolled."},
    {"yt", "Work-items of a group of the products, along blocks of output channels."},
};

/// Tile size by AutoTVM's rule.
std::int64_t TileSize(const ConvShape& s) {
  constexpr std::int64_t kLarge = 4, kSmall = 2;
  return s.h % kLarge == 0 ? kLarge : kSmall;
}

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string why = RefusesConvForMali(w, target, /*depthwise=*/false); !why.empty()) {
    return why;
  }
  if (!IsFloat32(w) && !IsFloat16(w)) return "only float32 and float16";
  if (w.weight.shape[2] != kKernel || w.weight.shape[3] != kKernel) {
    return "only kernels of 3 x 3";
  }
  constexpr std::array<std::int64_t, 2> kOne = {1, 1};
  if (w.strides != kOne || w.dilation != kOne) return "only without strides and dilation";
  return "";
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  std::vector<std::int64_t> outputs, tiles(kVectorLengths.begin(), kVectorLengths.end());
  for (const std::int64_t block : tiles) {
    if (s.k % block == 0) outputs.push_back(block);
  }
  return MakeSpace({Knob::Other("tile_bna", std::move(outputs)),
                    Knob::Other("tile_bnb", std::move(tiles)),
                    Knob::Split("tile_t1", s.c, 2, {.max_factor = kMaxItems}),
                    Knob::Split("tile_t2", s.k, 2, {.max_factor = kMaxItems}),
                    Knob::Split("c_unroll", s.c, 2, {.max_factor = kMaxStep}),
                    Knob::Other("yt", std::vector<std::int64_t>{1, 2, 4, 8, 16, 32})});
}

/// AutoTVM's.
Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  constexpr std::int64_t kBlock = 4, kItems = 8;
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  return LocateValues(space, {{"tile_bna", KnobValue{LargestPowerOfTwo(s.k, kBlock)}},
                              {"tile_bnb", KnobValue{kBlock}},
                              {"tile_t1", InnerFactor(s.c, LargestDivisor(s.c, kMaxItems))},
                              {"tile_t2", InnerFactor(s.k, LargestDivisor(s.k, kMaxItems))},
                              {"c_unroll", InnerFactor(s.c, LargestDivisor(s.c, kMaxStep))},
                              {"yt", KnobValue{kItems}}});
}

void ScheduleDataTransform(Schedule& s, std::int64_t items) {
  const StageId transform = s.Stage("data_transform"), rows = s.Stage("rows"),
                window = s.Stage("window");
  if (s.HasStage("pad")) s.ComputeInline(s.Stage("pad"));
  const LoopId e = s.SpatialAxis(transform, 0), f = s.SpatialAxis(transform, 1),
               block = s.SpatialAxis(transform, 2), channel = s.SpatialAxis(transform, 3),
               tile = s.SpatialAxis(transform, 4);
  s.Reorder(transform, {block, channel, e, f, tile});
  const LoopId item = SpreadOverThreads(s, transform, {block, channel}, items);
  s.Unroll(transform, e);
  s.Unroll(transform, f);
  s.Vectorize(transform, tile);
  KeepPrivate(s, rows, transform, item, {2, 3});
  s.Vectorize(rows, s.SpatialAxis(rows, 4));
  KeepPrivate(s, window, transform, item, {2, 3});
}

void ScheduleProducts(Schedule& s, const Config& config) {
  const StageId products = s.Stage("products");
  const StageId sum = s.CacheWrite(products, Scope::kLocal);
  const LoopId position = s.Fuse(products, s.SpatialAxis(products, 0), s.SpatialAxis(products, 1));
  const auto [blocks, k] =
      s.Split(products, s.SpatialAxis(products, 2), config.Integer("tile_bna"));
  const auto [tiles, p] = s.Split(products, s.SpatialAxis(products, 3), config.Integer("tile_bnb"));
  const auto [group, item] = s.Split(products, blocks, config.Integer("yt"));
  s.Reorder(products, {position, group, tiles, item, k, p});
  BindBlockLoops(s, products, {position, group, tiles});
  s.Bind(products, item, LoopKind::kThreadY);
  s.Unroll(products, k);
  s.Vectorize(products, p);
  s.ComputeAt(sum, products, item);
  const std::vector<LoopId> c = s.SplitBy(sum, s.ReductionAxis(sum, 0), config.Factors("c_unroll"));
  const LoopId channel = s.SpatialAxis(sum, 2), tile = s.SpatialAxis(sum, 3);
  s.Reorder(sum, {s.SpatialAxis(sum, 0), s.SpatialAxis(sum, 1), c[0], c[1], channel, tile});
  s.Unroll(sum, c[1]);
  s.Unroll(sum, channel);
  s.Vectorize(sum, tile);
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target&,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto shape, ConvShapeOf(w));
  KernelLayouts layouts;
  layouts.winograd_tile = TileSize(shape);
  layouts.spatial_pack.channels = config.Integer("tile_bna");
  layouts.spatial_pack.columns = config.Integer("tile_bnb");
  layouts.weight = Blocked(w.kernel_layout, layouts.spatial_pack.channels, 'o');
  if (!IsFloat32(w)) layouts.multiply_dtype = kFloat32;
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  ScheduleDataTransform(s, config.Factors("tile_t1")[1]);
  ScheduleProducts(s, config);
  ScheduleWinogradResult(s, layouts.winograd_tile, config.Factors("tile_t2")[1]);
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace winograd_mali

TemplateEntry Conv2dWinogradMaliEntry() {
  using namespace winograd_mali;
  TemplateEntry entry = LoopTemplate("conv2d_nchw_winograd.mali", 1, "opencl", kKnobs, &Refuses,
                                     &DefineSpace, &DefaultConfig, &Apply);
  entry.only_reorders_sums = false;
  return entry;
}

}  // namespace tilewright
