// AutoTVM's depthwise convolution for Mali. Padded data are written first; then each work-item sums
// a block of channels, rows and columns in registers.

#include "src/templates/annotations.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/opencl/templates.h"
#include "src/templates/opencl/work_items.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace depthwise_mali {
namespace {

constexpr std::int64_t kMaxUnroll = 16;  // AutoTVM's limit
constexpr std::array kTiles = {"tile_c", "tile_y", "tile_x"};

constexpr KnobDoc kKnobs[] = {
    {"tile_c",
     "Channels: work-groups, work-items of a group, channels of one item. As many work-items write"
     " the padded data of as many channels."},
    {"tile_y", "Rows of the result: work-groups, work-items of a group, rows of one item."},
    {"tile_x", "Columns of the result: work-groups, work-items of a group, columns of one item."},
    {"ann_spatial",
     "Loops over channels, rows and columns of an item: `unroll` (up to 16 times), `vec` (2,"
     " 4, 8 or 16), or `none`, which unrolls them only if the sums fit in registers. The loop with"
     " `vec` is innermost."},
};

std::string Refuses(const Workload& w, const Target& target) {
  return RefusesConvForMali(w, target, /*depthwise=*/true);
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  return MakeSpace({Knob::Split("tile_c", s.k, 3), Knob::Split("tile_y", s.oh, 3),
                    Knob::Split("tile_x", s.ow, 3),
                    AnnotateKnob("ann_spatial", {"none", "unroll", "vec"}, 3)});
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  constexpr std::int64_t kChannels = 4, kRows = 2, kColumns = 8, kVector = 4;
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  const std::int64_t vector = LargestPowerOfTwo(s.ow, kVector);
  return LocateValues(
      space, {{"tile_c", ItemsAndInner(s.k, kChannels, 1)},
              {"tile_y", ItemsAndInner(s.oh, kRows, 1)},
              {"tile_x", ItemsAndInner(s.ow, kColumns, vector)},
              {"ann_spatial", KnobValue{std::vector<std::string>{"unroll", "unroll", "vec"}}}});
}

/// Writes the padded data: an item copies a row.
void SchedulePad(Schedule& s, const Config& config) {
  const StageId pad = s.Stage("pad");
  const auto [group, item] = s.Split(pad, s.SpatialAxis(pad, 1), config.Factors("tile_c")[1]);
  const LoopId row = s.SpatialAxis(pad, 2);
  s.Reorder(pad, {group, row, item, s.SpatialAxis(pad, 3)});
  s.Bind(pad, s.Fuse(pad, s.SpatialAxis(pad, 0), group), LoopKind::kBlockZ);
  s.Bind(pad, row, LoopKind::kBlockY);
  s.Bind(pad, item, LoopKind::kThreadZ);
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target&,
                     const Config& config) {
  TW_RETURN_IF_ERROR(
      CheckAnnotated(config, kTiles, "ann_spatial", kMaxUnroll, /*checks_vectors=*/true));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum;
  if (stages.has_pad) SchedulePad(s, config);
  std::vector<ItemAxis> axes;
  for (const char* tile : kTiles) {
    axes.push_back(
        {s.SpatialAxis(result, static_cast<int>(axes.size()) + 1), config.Factors(tile)});
  }
  TW_ASSIGN_OR_RETURN(const auto loops, TileItems(s, result, axes, s.SpatialAxis(result, 0)));
  s.ComputeAt(sum, result, loops.item);
  const std::vector<AnnotatedLoop> tile =
      Annotated({s.SpatialAxis(sum, 1), s.SpatialAxis(sum, 2), s.SpatialAxis(sum, 3)}, config,
                kTiles, "ann_spatial");
  const LoopId row = s.ReductionAxis(sum, 0), column = s.ReductionAxis(sum, 1);
  std::vector<LoopId> order = {row, column};
  for (const LoopId loop : TileOrder(tile)) order.push_back(loop);
  s.Reorder(sum, order);
  s.Unroll(sum, row);
  s.Unroll(sum, column);
  AnnotateTile(s, sum, tile, kMaxUnroll);
  return FinishKernel(std::move(s));
}

}  // namespace
}  // namespace depthwise_mali

TemplateEntry DepthwiseConv2dMaliEntry() {
  using namespace depthwise_mali;
  return LoopTemplate("depthwise_conv2d_nchw.mali", 1, "opencl", kKnobs, &Refuses, &DefineSpace,
                      &DefaultConfig, &Apply);
}

}  // namespace tilewright
