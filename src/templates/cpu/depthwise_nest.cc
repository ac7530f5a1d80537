#include "src/templates/cpu/depthwise_nest.h"

#include "src/templates/stages.h"

namespace tilewright {
namespace depthwise_nest_cpu {
namespace {

/// Axes of the result: n, channel block, row, column, channel of the block.
enum ResultAxis { kN, kBlock, kRow, kCol, kLane };

}  // namespace
}  // namespace depthwise_nest_cpu

void ScheduleDepthwiseNest(Schedule& s, const DepthwiseNest& nest, std::int64_t lanes,
                           const Target& target) {
  using namespace depthwise_nest_cpu;
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum;
  const LoopId n = s.SpatialAxis(result, kN), block = s.SpatialAxis(result, kBlock);
  const auto [rows_all, row] = s.Split(result, s.SpatialAxis(result, kRow), nest.rows, Tail::kPeel);
  const auto [row_pass, row_tile] = s.Split(result, rows_all, nest.row_tiles, Tail::kPeel);
  const auto [col_tile, col] = s.Split(result, s.SpatialAxis(result, kCol), nest.cols, Tail::kPeel);
  s.Reorder(result,
            {n, block, row_pass, row_tile, col_tile, row, col, s.SpatialAxis(result, kLane)});
  s.Unroll(result, row);
  s.Unroll(result, col);
  s.Vectorize(result, s.SpatialAxis(result, kLane));
  const LoopId pass = FuseAll(s, result, {n, block, row_pass});
  ParallelFor(s, result, pass, target);

  s.ComputeAt(sum, result, col_tile);
  const int reductions = static_cast<int>(s.stage(sum).op.reduce_axes.size());
  const int first = reductions - (nest.taps.empty() ? 2 : 3);
  const LoopId kh = s.ReductionAxis(sum, first), kw = s.ReductionAxis(sum, first + 1);
  const LoopId sum_row = s.SpatialAxis(sum, kRow), sum_col = s.SpatialAxis(sum, kCol);
  const LoopId lane = s.SpatialAxis(sum, kLane);
  if (nest.unroll_kh) s.Unroll(sum, kh);
  if (nest.unroll_kw) s.Unroll(sum, kw);
  s.Unroll(sum, sum_row);
  s.Unroll(sum, sum_col);
  if (nest.taps.empty()) {
    s.Reorder(sum, {kh, kw, sum_row, sum_col, lane});
    s.Vectorize(sum, lane);
  } else {
    s.Reorder(sum, {sum_col, kw, kh, sum_row, lane, s.ReductionAxis(sum, first + 2)});
    s.Tensorize(sum, lane, nest.taps);
  }
  if (stages.has_pad) SchedulePad(s, stages, nest.pad, pass, lanes, target);
}

}  // namespace tilewright
