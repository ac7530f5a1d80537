#include "src/templates/cpu/conv_nest.h"

#include <tuple>
#include <vector>

namespace tilewright {
namespace conv_nest_cpu {
namespace {

/// Axes of the result, in the order of memory: n, oc block, row, column, channel of the block.
enum ResultAxis { kN, kOcBlock, kRow, kCol, kLane };
/// Reduction axes: block of input channels, kernel row and column, then those of the weight layout:
/// channels of the block (or groups of them), channels of one dot product.
enum ReduceAxis { kIc, kKh, kKw, kIcInner, kIcDot };

struct ResultLoops {
  LoopId pass;    // a row pass for one group of output channels
  LoopId column;  // one register tile
};

ResultLoops ScheduleResult(Schedule& s, StageId result, const ConvNest& nest,
                           const Target& target) {
  const LoopId n = s.SpatialAxis(result, kN), lane = s.SpatialAxis(result, kLane);
  LoopId group, in_group = s.SpatialAxis(result, kOcBlock);
  if (nest.group_blocks > 0) {
    std::tie(group, in_group) = s.Split(result, in_group, nest.group_blocks, Tail::kPeel);
  }
  const auto [oc_group, oc_tile] = s.Split(result, in_group, nest.oc_blocks, Tail::kPeel);
  const auto [row_tile_all, row] =
      s.Split(result, s.SpatialAxis(result, kRow), nest.rows, Tail::kPeel);
  const auto [row_pass, row_tile] = s.Split(result, row_tile_all, nest.row_tiles, Tail::kPeel);
  const auto [col_tile_all, col] =
      s.Split(result, s.SpatialAxis(result, kCol), nest.cols, Tail::kPeel);
  const auto [col_pass, col_tile] = s.Split(result, col_tile_all, nest.col_tiles, Tail::kPeel);
  std::vector<LoopId> outer = {n, row_pass, col_pass};
  const auto place = nest.channels_first ? outer.begin() + 1 : outer.end();
  const auto channels = outer.insert(place, oc_group);
  if (nest.group_blocks > 0) outer.insert(channels, group);
  std::vector<LoopId> order = outer;
  order.insert(order.end(), {row_tile, col_tile, oc_tile, row, col, lane});
  s.Reorder(result, order);
  s.Unroll(result, oc_tile);
  s.Unroll(result, row);
  s.Unroll(result, col);
  s.Vectorize(result, lane);
  const LoopId pass = FuseAll(s, result, outer);
  ParallelFor(s, result, pass, target);
  return {pass, col_tile};
}

void ScheduleSum(Schedule& s, StageId sum, const ConvNest& nest) {
  const LoopId oc = s.SpatialAxis(sum, kOcBlock);
  const LoopId row = s.SpatialAxis(sum, kRow), col = s.SpatialAxis(sum, kCol);
  const LoopId lane = s.SpatialAxis(sum, kLane);
  const LoopId kh = s.ReductionAxis(sum, kKh), kw = s.ReductionAxis(sum, kKw);
  // Weight blocks may be parts of a data block; whole data blocks outside keep the indices simple.
  const auto [data_block, ic] = s.Split(sum, s.ReductionAxis(sum, kIc), nest.ic_parts, Tail::kPeel);
  std::vector<LoopId> order = {data_block, ic, kh};
  const bool blocked = s.stage(sum).op.reduce_axes.size() > kIcInner;
  if (blocked) {
    const auto [step, unrolled] =
        s.Split(sum, s.ReductionAxis(sum, kIcInner), nest.ic_unroll, Tail::kPeel);
    const std::vector<LoopId> channels = {step, unrolled};
    order.push_back(kw);
    order.insert(nest.ic_before_kw ? order.end() - 1 : order.end(), channels.begin(),
                 channels.end());
    s.Unroll(sum, unrolled);
  } else {
    order.push_back(kw);
  }
  order.insert(order.end(), {row, col, oc, lane});
  if (!nest.dot.empty()) order.push_back(s.ReductionAxis(sum, kIcDot));
  s.Reorder(sum, order);
  if (nest.weight_distance > 0) s.Prefetch(sum, "weight", data_block, nest.weight_distance);
  if (nest.unroll_kw) s.Unroll(sum, kw);
  s.Unroll(sum, row);
  s.Unroll(sum, col);
  s.Unroll(sum, oc);
  if (nest.dot.empty()) {
    s.Vectorize(sum, lane);
  } else {
    s.Tensorize(sum, lane, nest.dot);
  }
}

}  // namespace
}  // namespace conv_nest_cpu

PadPlace PadPlaceOf(std::string_view word) {
  return word == "rows" ? PadPlace::kRows : word == "skip" ? PadPlace::kInline : PadPlace::kWhole;
}

void SchedulePad(Schedule& s, const AnchorStages& stages, PadPlace place, LoopId pass,
                 std::int64_t lanes, const Target& target) {
  using namespace conv_nest_cpu;
  switch (place) {
    case PadPlace::kWhole:
      ScheduleFlat(s, stages.pad, lanes, target);
      break;
    case PadPlace::kRows: {
      s.ComputeAt(stages.pad, stages.result, pass);
      s.SetScope(stages.pad, Scope::kLocal);
      const LoopId innermost = s.Leaves(stages.pad).back();
      s.Vectorize(stages.pad, innermost);
      break;
    }
    case PadPlace::kInline:
      s.ComputeInline(stages.pad);
      s.SkipZeroTaps(stages.sum);
      break;
  }
}

void ScheduleConvNest(Schedule& schedule, const ConvNest& nest, std::int64_t lanes,
                      const Target& target) {
  using namespace conv_nest_cpu;
  const AnchorStages stages = PrepareStages(schedule);
  const ResultLoops loops = ScheduleResult(schedule, stages.result, nest, target);
  schedule.ComputeAt(stages.sum, stages.result, loops.column);
  ScheduleSum(schedule, stages.sum, nest);
  if (stages.has_pad) SchedulePad(schedule, stages, nest.pad, loops.pass, lanes, target);
}

}  // namespace tilewright
