#include "src/templates/spatial_pack.h"

#include "src/templates/annotations.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

/// Positions of rows and channels of a block among the axes of reorder_0.
constexpr std::int64_t kRowsOfBlock = 7, kChannelsOfBlock = 9;

}  // namespace

KnobValue PlainBlockOrder() {
  return KnobValue{std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
}

Result<ConfigSpace> SpatialPackSpace(const Workload& w, int parts) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  const KnobValue channels_first{std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 9, 7, 8}};
  return MakeSpace(
      {Knob::Split("tile_co", s.k, parts), Knob::Split("tile_oh", s.oh, parts),
       Knob::Split("tile_ow", s.ow, parts),
       Knob::Candidates("reorder_0", KnobKind::kReorder, {PlainBlockOrder(), channels_first}),
       AnnotateKnob("ann_reduce", {"none", "unroll"}, 2),
       AnnotateKnob("ann_spatial", {"none", "unroll", "vec"}, 3)});
}

KernelLayouts SpatialPackLayouts(const Workload& w, const Config& config) {
  KernelLayouts layouts;
  layouts.spatial_pack = {config.Factors("tile_co").back(), config.Factors("tile_oh").back(),
                          config.Factors("tile_ow").back()};
  layouts.weight = Blocked(w.kernel_layout, layouts.spatial_pack.channels, 'o');
  return layouts;
}

void ScheduleBlockSums(Schedule& s, StageId sums, const Config& config) {
  std::vector<LoopId> order;
  for (int axis = 0; axis < 4; ++axis) order.push_back(s.SpatialAxis(sums, axis));
  const std::vector<LoopId> taps = {s.ReductionAxis(sums, 1), s.ReductionAxis(sums, 2)};
  order.push_back(s.ReductionAxis(sums, 0));
  order.insert(order.end(), taps.begin(), taps.end());
  // The words are those of rows, columns and channels, whatever the order of the loops is.
  const std::vector<AnnotatedLoop> named =
      Annotated({s.SpatialAxis(sums, 4), s.SpatialAxis(sums, 5), s.SpatialAxis(sums, 6)}, config,
                kBlockKnobs, "ann_spatial");
  std::vector<AnnotatedLoop> tile;
  for (const std::int64_t axis : config.Factors("reorder_0")) {
    if (axis >= kRowsOfBlock && axis <= kChannelsOfBlock)
      tile.push_back(named[static_cast<std::size_t>(axis - kRowsOfBlock)]);
  }
  for (const LoopId loop : TileOrder(tile)) order.push_back(loop);
  s.Reorder(sums, order);
  AnnotateTile(s, sums, tile, std::int64_t{1} << 31);
  UnrollAnnotated(s, sums, taps, config, "ann_reduce");
}

}  // namespace tilewright
