// AutoTVM's Winograd convolution for Adreno, with channels in texels of 4. The padded data are
// copied to an image, their tiles are transformed, one matrix product is computed for each position
// of the window, and the results are transformed back with the epilogue; operands of each launch
// are images. The weight is transformed when it is packed.

#include "src/base/math.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/cuda/winograd_tiles.h"
#include "src/templates/opencl/adreno.h"
#include "src/templates/opencl/adreno_sizes.h"
#include "src/templates/opencl/templates.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"
#include "src/tensor/compute/winograd.h"

namespace tilewright {
namespace winograd_adreno {
namespace {

constexpr std::int64_t kMaxItems = 64, kMaxVirtual = 16;
// Kernel rows that AutoTVM's Winograd templates serve.
constexpr std::int64_t kSmallest = 3, kLargest = 7;
constexpr std::int64_t kLargestWindow = 8;
/// Work-items of a group that transforms tiles.
constexpr std::int64_t kTransformItems = 128;

constexpr KnobDoc kKnobs[] = {
    {"auto_unroll_max_step",
     "The loop over the 4 input channels of a texel is unrolled if its iterations are at most this"
     " many. 0 does not unroll it."},
    {"tile_y",
     "Texels of 4 output channels of all positions of the window: work-groups, virtual threads,"
     " work-items of a group. The values divide the texels of one position."},
    {"tile_x", "Winograd tiles: work-groups, virtual threads, work-items of a group."},
    {"tile_rc", "Texels of 4 input channels. It has no effect, as in AutoTVM."},
};

bool KeepsRows(const std::vector<std::int64_t>& f) {
  return f[1] <= kMaxVirtual && f[2] <= kMaxItems;
}
bool KeepsTiles(const std::vector<std::int64_t>& f) {
  return KeepsRows(f) && f[1] >= AdrenoLeastTiles(f[0] * f[1] * f[2]);
}

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string why = RefusesConvForAdreno(w, target, /*depthwise=*/false); !why.empty()) {
    return why;
  }
  const std::int64_t rows = w.weight.shape[2], columns = w.weight.shape[3];
  if (rows != columns || rows < kSmallest || rows > kLargest) {
    return "only square kernels of 3 to 7 rows";
  }
  if (AdrenoWinogradTile(w.data.shape[2]) + rows - 1 > kLargestWindow) {
    return "the transforms of larger windows than 8 x 8 lose too many digits";
  }
  constexpr std::array<std::int64_t, 2> kOne = {1, 1};
  if (w.strides != kOne || w.dilation != kOne) return "only without strides and dilation";
  return "";
}

Result<WinogradTiles> TilesOf(const Workload& w) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  return WinogradTilesOf(s, AdrenoWinogradTile(s.h));
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(const auto tiles, TilesOf(w));
  const Knob::SplitOptions rows = {.keep = &KeepsRows}, columns = {.keep = &KeepsTiles};
  return MakeSpace({Knob::Other("auto_unroll_max_step", std::vector<std::int64_t>{0, 4, 16}),
                    Knob::Split("tile_y", CeilDiv(s.k, kTexelChannels), 3, rows),
                    Knob::Split("tile_x", tiles.count, 3, columns),
                    Knob::Split("tile_rc", CeilDiv(s.c, kTexelChannels), 2)});
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  constexpr std::int64_t kRows = 16, kColumns = 16, kUnrolled = 4;
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(const auto tiles, TilesOf(w));
  const std::int64_t texels = CeilDiv(s.k, kTexelChannels);
  const std::int64_t least = AdrenoLeastTiles(tiles.count);
  const std::int64_t ty = LargestDivisor(texels, kRows);
  const std::int64_t tx = LargestDivisor(tiles.count / least, kColumns);
  return LocateValues(
      space, {{"auto_unroll_max_step", KnobValue{kUnrolled}},
              {"tile_y", KnobValue{std::vector<std::int64_t>{texels / ty, 1, ty}}},
              {"tile_x", KnobValue{std::vector<std::int64_t>{tiles.count / least / tx, least, tx}}},
              {"tile_rc", InnerFactor(CeilDiv(s.c, kTexelChannels), 1)}});
}

/// Computes a stage in the registers of a work-item, a texel at a time.
void KeepTexels(Schedule& s, StageId stage, StageId consumer, LoopId item) {
  KeepPrivate(s, stage, consumer, item, {2, 3});
  s.Vectorize(stage, s.SpatialAxis(stage, 4));
}

void ScheduleDataTransform(Schedule& s, const Target& target) {
  const StageId transform = s.Stage("data_transform");
  const LoopId e = s.SpatialAxis(transform, 0), f = s.SpatialAxis(transform, 1),
               texel = s.SpatialAxis(transform, 2), tile = s.SpatialAxis(transform, 3);
  s.Reorder(transform, {texel, tile, e, f});
  const LoopId item = SpreadOverThreads(s, transform, {texel, tile}, kTransformItems);
  s.Unroll(transform, e);
  s.Unroll(transform, f);
  StoreInImage(s, transform, target);
  KeepTexels(s, s.Stage("rows"), transform, item);
}

void ScheduleProducts(Schedule& s, StageId products, StageId sum, const Config& config) {
  const LoopId position = s.Fuse(products, s.SpatialAxis(products, 0), s.SpatialAxis(products, 1));
  const auto y = s.SplitBy(products, s.Fuse(products, position, s.SpatialAxis(products, 2)),
                           config.Factors("tile_y"));
  const auto x = s.SplitBy(products, s.SpatialAxis(products, 3), config.Factors("tile_x"));
  s.Reorder(products, {y[0], x[0], y[1], x[1], y[2], x[2]});
  s.Bind(products, y[0], LoopKind::kBlockY);
  s.Bind(products, x[0], LoopKind::kBlockX);
  s.VirtualThread(products, y[1]);
  s.VirtualThread(products, x[1]);
  s.Bind(products, y[2], LoopKind::kThreadY);
  s.Bind(products, x[2], LoopKind::kThreadX);
  s.ComputeAt(sum, products, x[2]);
  const LoopId texel = s.ReductionAxis(sum, 0), channel = s.ReductionAxis(sum, 1);
  s.Reorder(sum, {texel, channel, s.SpatialAxis(sum, 4)});
  s.Pragma(sum, channel, "auto_unroll_max_step", config.Integer("auto_unroll_max_step"));
  s.Pragma(sum, channel, "unroll_explicit", 1);
  VectorizeTexel(s, sum, s.SpatialAxis(sum, 4));
}

void ScheduleResult(Schedule& s, std::int64_t m) {
  const auto [result, item] = TileWinogradResult(s, m, kTransformItems);
  s.Vectorize(result, s.SpatialAxis(result, 4));
  KeepTexels(s, s.Stage("tile"), result, item);
  KeepTexels(s, s.Stage("columns"), result, item);
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto shape, ConvShapeOf(w));
  KernelLayouts layouts;
  layouts.data = layouts.output = Blocked("NCHW", kTexelChannels, 'c');
  layouts.weight = Blocked("OIHW", kTexelChannels, 'o');
  layouts.winograd_tile = AdrenoWinogradTile(shape.h);
  if (!IsFloat32(w)) layouts.multiply_dtype = kFloat32;
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const StageId products = s.Stage("products");
  const StageId sum = s.CacheWrite(products, Scope::kLocal);
  CopyToImage(s, s.HasStage("pad") ? "pad" : "data", s.Stage("rows"), target);
  CopyToImage(s, "weight", sum, target);
  ScheduleDataTransform(s, target);
  ScheduleProducts(s, products, sum, config);
  StoreInImage(s, products, target);
  ScheduleResult(s, layouts.winograd_tile);
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace winograd_adreno

TemplateEntry Conv2dWinogradImageEntry() {
  using namespace winograd_adreno;
  TemplateEntry entry = LoopTemplate("conv2d_nchw_winograd.image2d", 1, "opencl", kKnobs, &Refuses,
                                     &DefineSpace, &DefaultConfig, &Apply);
  entry.only_reorders_sums = false;
  return entry;
}

}  // namespace tilewright
