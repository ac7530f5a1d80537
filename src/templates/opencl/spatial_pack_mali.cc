// AutoTVM's convolution for Mali. The result is cut into blocks of channels, rows and columns, one
// for each work-item. First the data are copied so that each block of rows and columns has its
// window in neighbouring memory. Then each work-item sums its block in registers and writes it to
// its place with the epilogue.

#include "src/templates/spatial_pack.h"

#include "src/templates/annotations.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/opencl/templates.h"
#include "src/templates/opencl/work_items.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace spatial_pack_mali {
namespace {

constexpr std::int64_t kMaxUnroll = 16;  // AutoTVM's limit
/// Work-items of a group that copies data.
constexpr std::int64_t kItemsOfCopies = 64;

constexpr KnobDoc kKnobs[] = {
    {"tile_co", "Output channels: work-groups, work-items of a group, channels of one block."},
    {"tile_oh", "Rows of the result: work-groups, work-items of a group, rows of one block."},
    {"tile_ow", "Columns of the result: work-groups, work-items of a group, columns of one block."},
    kBlockOrderDoc,
    kBlockTapsDoc,
    kBlockLoopsDoc,
};

std::string Refuses(const Workload& w, const Target& target) {
  return RefusesConvForMali(w, target, /*depthwise=*/false);
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target&) { return SpatialPackSpace(w, 3); }

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  constexpr std::int64_t kChannels = 4, kColumns = 4, kItems = 64, kItemsOfChannels = 8,
                         kMaxTaps = 9;
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  const std::int64_t vector = LargestPowerOfTwo(s.k, kChannels);
  const KnobValue channels = ItemsAndInner(s.k, kItemsOfChannels, vector);
  const std::int64_t items = std::get<std::vector<std::int64_t>>(channels.value)[1];
  const std::string taps = s.r * s.s <= kMaxTaps ? "unroll" : "none";
  return LocateValues(
      space, {{"tile_co", channels},
              {"tile_oh", ItemsAndInner(s.oh, 1, 1)},
              {"tile_ow", ItemsAndInner(s.ow, kItems / items, kColumns)},
              {"reorder_0", PlainBlockOrder()},
              {"ann_reduce", KnobValue{std::vector<std::string>{taps, taps}}},
              {"ann_spatial", KnobValue{std::vector<std::string>{"unroll", "unroll", "vec"}}}});
}

/// Errors: kInvalidArgument for kernel loops that AutoTVM does not unroll.
Status CheckTaps(const Workload& w, const Config& config) {
  const auto& words = config.Words("ann_reduce");
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::int64_t taps = w.weight.shape[2 + i];
    if (words[i] != "unroll" || taps <= kMaxUnroll) continue;
    return InvalidArgument("ann_reduce: " + std::to_string(taps) +
                           " unrolled iterations, AutoTVM unrolls at most " +
                           std::to_string(kMaxUnroll));
  }
  return {};
}

/// Copies the window of a block and an input channel in each work-item.
void SchedulePack(Schedule& s) {
  const StageId pack = s.Stage("pack");
  std::vector<LoopId> axes = s.Leaves(pack);
  const std::vector<LoopId> window(axes.begin() + 4, axes.end());
  axes.resize(4);
  SpreadOverThreads(s, pack, axes, kItemsOfCopies);
  for (const LoopId loop : window) {
    if (s.Extent(loop) < kMaxUnroll) s.Unroll(pack, loop);
  }
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target&,
                     const Config& config) {
  TW_RETURN_IF_ERROR(CheckTaps(w, config));
  TW_RETURN_IF_ERROR(
      CheckAnnotated(config, kBlockKnobs, "ann_spatial", kMaxUnroll, /*checks_vectors=*/true));
  const KernelLayouts layouts = SpatialPackLayouts(w, config);
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const StageId sums = s.Stage("sums");
  const StageId result = InlineIntoResult(s);
  if (s.HasStage("pad")) s.ComputeInline(s.Stage("pad"));
  SchedulePack(s);
  TW_ASSIGN_OR_RETURN(const auto loops,
                      TileItems(s, result,
                                {{s.SpatialAxis(result, 1), config.Factors("tile_co")},
                                 {s.SpatialAxis(result, 2), config.Factors("tile_oh")},
                                 {s.SpatialAxis(result, 3), config.Factors("tile_ow")}},
                                s.SpatialAxis(result, 0)));
  const std::vector<AnnotatedLoop> tile = Annotated(
      {loops.inner[1], loops.inner[2], loops.inner[0]}, config, kBlockKnobs, "ann_spatial");
  s.Reorder(result, TileOrder(tile));
  AnnotateTile(s, result, tile, kMaxUnroll);
  s.SetScope(sums, Scope::kLocal);
  s.ComputeAt(sums, result, loops.item);
  ScheduleBlockSums(s, sums, config);
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace spatial_pack_mali

TemplateEntry Conv2dSpatialPackMaliEntry() {
  using namespace spatial_pack_mali;
  return LoopTemplate("conv2d_nchw_spatial_pack.mali", 1, "opencl", kKnobs, &Refuses, &DefineSpace,
                      &DefaultConfig, &Apply);
}

}  // namespace tilewright
