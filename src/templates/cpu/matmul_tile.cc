#include "src/templates/cpu/matmul_tile.h"

#include <algorithm>
#include <utility>

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/templates/space_values.h"

namespace tilewright {

std::vector<MatmulTile> MatmulTiles(std::int64_t rows, std::int64_t blocks,
                                    std::int64_t registers) {
  constexpr std::int64_t kMaxRows = 14, kMaxBlocks = 16;
  std::vector<MatmulTile> tiles;
  for (std::int64_t row : MinWasteTiles(rows, kMaxRows)) {
    for (std::int64_t block : MinWasteTiles(blocks, kMaxBlocks)) {
      const std::int64_t weights = row > 1 ? block : 0;  // with one row, read directly from memory
      if (row * block + weights + kTileReserve <= registers) tiles.push_back({row, block});
    }
  }
  return tiles;
}

MatmulTile DefaultMatmulTile(std::int64_t rows, std::int64_t blocks, std::int64_t registers,
                             std::int64_t max_rows) {
  constexpr std::int64_t kMaxBlocks = 8;
  MatmulTile best = {1, 1};
  for (const MatmulTile& tile : MatmulTiles(rows, blocks, registers)) {
    const bool fits =
        4 * Product(tile) <= 3 * registers && tile[0] <= max_rows && tile[1] <= kMaxBlocks;
    if (fits && Product(tile) >= Product(best)) best = tile;
  }
  return best;
}

MatmulLoops TileMatmulResult(Schedule& s, StageId result, bool batched, const MatmulTile& tile,
                             std::int64_t lanes) {
  const int first = batched ? 1 : 0;
  const auto [row_tile, row] = s.Split(result, s.SpatialAxis(result, first), tile[0], Tail::kPeel);
  const auto [group, column] =
      s.Split(result, s.SpatialAxis(result, first + 1), tile[1] * lanes, Tail::kPeel);
  const auto [block, lane] = s.Split(result, column, lanes, Tail::kPeel);
  MatmulLoops loops{{}, group, row_tile};
  std::vector<LoopId> order = {group, row_tile, row, block, lane};
  if (batched) {
    loops.batch = s.SpatialAxis(result, 0);
    order.insert(order.begin(), loops.batch);
  }
  s.Reorder(result, order);
  s.Unroll(result, row);
  s.Unroll(result, block);
  s.Vectorize(result, lane);
  return loops;
}

void TileMatmulSum(Schedule& s, StageId sum, bool batched, std::int64_t lanes,
                   std::int64_t k_unroll, const std::string& dot) {
  const int first = batched ? 1 : 0;
  const LoopId row = s.SpatialAxis(sum, first);
  const auto [block, lane] = s.Split(sum, s.SpatialAxis(sum, first + 1), lanes, Tail::kPeel);
  const auto [k_step, k_unrolled] = s.Split(sum, s.ReductionAxis(sum, 0), k_unroll, Tail::kPeel);
  std::vector<LoopId> order = {k_step, k_unrolled, row, block, lane};
  if (!dot.empty()) order.push_back(s.ReductionAxis(sum, 1));
  s.Reorder(sum, order);
  s.Unroll(sum, k_unrolled);
  s.Unroll(sum, row);
  s.Unroll(sum, block);
  if (dot.empty()) {
    s.Vectorize(sum, lane);
  } else {
    s.Tensorize(sum, lane, dot);
  }
}

void TransposeColumns(Compute& compute, std::string_view sum, std::string name) {
  const auto reduce = std::ranges::find(compute.stages, sum, &ComputeOp::name);
  const Buffer weight = reduce->body->args[1]->buffer;
  const std::int64_t batches = weight->shape[0], n = weight->shape[1], k = weight->shape[2];
  ComputeOp columns;
  columns.output = MakeBuffer(name, weight->dtype, {batches, k, n});
  columns.name = std::move(name);
  columns.axes = {
      {MakeVar("b"), batches, false}, {MakeVar("k"), k, false}, {MakeVar("n"), n, false}};
  columns.body = MakeLoad(weight, {columns.axes[0].var, columns.axes[2].var, columns.axes[1].var});
  reduce->body = Rewrite(reduce->body, [&](const Expr& node) -> Expr {
    if (node->kind != ExprKind::kLoad || node->buffer != weight) return {};
    return MakeLoad(columns.output, {node->args[0], node->args[2], node->args[1]});
  });
  compute.stages.insert(reduce, std::move(columns));
}

void ScheduleColumns(Schedule& s, StageId columns, StageId consumer, LoopId at,
                     std::int64_t lanes) {
  constexpr std::int64_t kMaxLocalBytes = 16 * 1024;  // limit for each, of 64 KiB in total
  const ComputeOp& op = s.stage(columns).op;
  const Buffer& output = op.output;
  const std::int64_t bytes = output->shape[1] * output->shape[2] * output->dtype.bytes();
  const bool turns = AcrossAxis(op, lanes) == 1;
  s.SetScope(columns, bytes > kMaxLocalBytes ? Scope::kGlobal : Scope::kLocal);
  s.ComputeAt(columns, consumer, at);
  const LoopId row = s.SpatialAxis(columns, 1);
  const auto [block, lane] = s.Split(columns, s.SpatialAxis(columns, 2), lanes, Tail::kPeel);
  if (turns) {
    const auto [chunk, inner] = s.Split(columns, row, lanes, Tail::kPeel);
    s.Reorder(columns, {s.SpatialAxis(columns, 0), block, chunk, inner, lane});
    s.Unroll(columns, inner);
  } else {
    s.Reorder(columns, {s.SpatialAxis(columns, 0), block, row, lane});
  }
  s.Vectorize(columns, lane);
}

}  // namespace tilewright
