// Register tiles of matrix products: their choice by the number of registers, and their loops.

#include "src/templates/matmul_tile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

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

namespace {

/// Returns the largest power of two that is not larger.
std::int64_t LargestBlock(std::int64_t extent) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(extent)));
}

/// Returns the buffer of the second factor of a product, which may be converted.
Buffer WeightOf(const Expr& product) {
  Expr factor = product->args[1];
  while (factor->kind == ExprKind::kCast) factor = factor->args[0];
  return factor->buffer;
}

/// Splits the reduction of the sum into pairs and makes it read pairs of columns[b, k, n, 2].
void PairColumns(Compute& compute, std::vector<ComputeOp>::iterator reduce, std::string name) {
  const Buffer weight = WeightOf(reduce->body);
  const std::int64_t batches = weight->shape[0], n = weight->shape[1], pairs = weight->shape[2] / 2;
  ComputeOp columns;
  columns.output = MakeBuffer(name, weight->dtype, {batches, pairs, n, 2});
  columns.name = std::move(name);
  columns.axes = {{MakeVar("b"), batches, false},
                  {MakeVar("k"), pairs, false},
                  {MakeVar("n"), n, false},
                  {MakeVar("ki"), 2, false}};
  const auto element = [](const Axis& pair, const Axis& half) {
    return pair.var * Expr(2) + half.var;
  };
  columns.body = MakeLoad(weight, {columns.axes[0].var, columns.axes[2].var,
                                   element(columns.axes[1], columns.axes[3])});
  const Expr whole = reduce->reduce_axes[0].var;
  reduce->reduce_axes = {{MakeVar("k"), pairs, true}, {MakeVar("ki"), 2, true}};
  const Axis& pair = reduce->reduce_axes[0];
  const Axis& half = reduce->reduce_axes[1];
  reduce->body = Rewrite(reduce->body, [&](const Expr& node) -> Expr {
    if (node.Same(whole)) return element(pair, half);
    if (node->kind != ExprKind::kLoad || node->buffer != weight) return {};
    return MakeLoad(columns.output, {node->args[0], pair.var, node->args[1], half.var});
  });
  compute.stages.insert(reduce, std::move(columns));
}

}  // namespace

BatchedTiles ScheduleBatchedProduct(Schedule& schedule, const AnchorStages& stages,
                                    const Config& config, const Target& target, std::int64_t lanes,
                                    const std::string& dot) {
  const MatmulLoops loops =
      TileMatmulResult(schedule, stages.result, true, config.Factors("register_tile"), lanes);
  const LoopId outer = FuseAll(schedule, stages.result, {loops.batch, loops.group});
  ParallelFor(schedule, stages.result, outer, target);
  schedule.ComputeAt(stages.sum, stages.result, loops.rows);
  TileMatmulSum(schedule, stages.sum, true, lanes, config.Integer("k_unroll"), dot);
  return {outer, loops.rows};
}

void PlaceInside(Schedule& s, StageId stage, StageId consumer, LoopId at) {
  constexpr std::int64_t kMaxLocalBytes = 16 * 1024;  // limit for each, of 64 KiB in total
  const Buffer& output = s.stage(stage).op.output;
  const std::int64_t bytes = output->bytes() / output->shape[0];  // of one matrix
  s.SetScope(stage, bytes > kMaxLocalBytes ? Scope::kGlobal : Scope::kLocal);
  s.ComputeAt(stage, consumer, at);
}

bool HasPairs(const DataType& dtype, std::int64_t products) {
  return dtype == kBFloat16 && products % 2 == 0;
}

void TransposeColumns(Compute& compute, std::string_view sum, std::string name) {
  const auto reduce = std::ranges::find(compute.stages, sum, &ComputeOp::name);
  const Buffer weight = WeightOf(reduce->body);
  if (HasPairs(weight->dtype, weight->shape[2])) {
    return PairColumns(compute, reduce, std::move(name));
  }
  std::vector<std::int64_t> shape = weight->shape;
  std::swap(shape[1], shape[2]);
  ComputeOp columns;
  std::vector<Expr> indices;
  constexpr std::array kNames = {"b", "k", "n", "ki"};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    columns.axes.push_back({MakeVar(kNames[i]), shape[i], false});
    indices.push_back(columns.axes.back().var);
  }
  std::swap(indices[1], indices[2]);
  // Half floats are converted once for all rows.
  const DataType dtype = weight->dtype.is_half() ? reduce->output->dtype : weight->dtype;
  columns.output = MakeBuffer(name, dtype, std::move(shape));
  columns.name = std::move(name);
  columns.body = MakeCast(dtype, MakeLoad(weight, std::move(indices)));
  reduce->body = Rewrite(reduce->body, [&](const Expr& node) -> Expr {
    if (node->kind != ExprKind::kLoad || node->buffer != weight) return {};
    std::vector<Expr> turned = node->args;
    std::swap(turned[1], turned[2]);
    return MakeLoad(columns.output, std::move(turned));
  });
  compute.stages.insert(reduce, std::move(columns));
}

void ReadCopied(Compute& compute, const Buffer& buffer, ComputeOp copy) {
  const auto reduce = std::ranges::find(compute.stages, "reduce", &ComputeOp::name);
  reduce->body = LoadInstead(reduce->body, buffer, copy.output);
  compute.stages.insert(reduce, std::move(copy));
}

Result<Compute> DefineWithCopiedColumns(const Workload& w, const Epilogue& epilogue) {
  KernelLayouts inside;  // the weight as the sums read it
  inside.weight = IsInt16(w) || IsBFloat16(w) ? "BKN2k" : "BKN";
  if (IsFloat16(w)) inside.multiply_dtype = kFloat32;
  if (IsInt16(w)) inside.multiply_dtype = kInt16;
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, inside));
  const Buffer copy = compute.inputs[1];
  const bool pairs = copy->shape.size() == 4;
  ComputeOp columns;
  columns.name = "columns";
  columns.output = MakeBuffer("columns", copy->dtype, copy->shape);
  columns.axes = {{MakeVar("b"), copy->shape[0], false},
                  {MakeVar("k"), copy->shape[1], false},
                  {MakeVar("n"), copy->shape[2], false}};
  Expr term = columns.axes[1].var;
  if (pairs) {
    columns.axes.push_back({MakeVar("ki"), 2, false});
    term = term * Expr(2) + columns.axes[3].var;
  }
  compute.inputs[1] = MakeBuffer("weight", w.weight.dtype, w.weight.shape);
  std::vector<Expr> indices = {columns.axes[0].var, columns.axes[2].var, term};
  if (w.kernel_layout == "BKN") std::swap(indices[1], indices[2]);
  columns.body = MakeCast(copy->dtype, MakeLoad(compute.inputs[1], std::move(indices)));
  const std::int64_t terms = w.data.shape[2];
  if (pairs && terms % 2 != 0) {
    columns.body =
        MakeSelect(Lt(term, Expr(terms)), std::move(columns.body), MakeConst(copy->dtype, 0));
  }
  ReadCopied(compute, copy, std::move(columns));
  return compute;
}

void ScheduleColumns(Schedule& s, StageId columns, StageId consumer, LoopId at,
                     std::int64_t lanes) {
  const ComputeOp& op = s.stage(columns).op;
  const bool pairs = op.axes.size() == 4;
  const bool turns = pairs || AcrossAxis(op, lanes) == 1;
  const std::int64_t most_rows = op.output->shape[1];
  PlaceInside(s, columns, consumer, at);
  const LoopId row = s.SpatialAxis(columns, 1);
  const auto [block, lane] = s.Split(columns, s.SpatialAxis(columns, 2), lanes, Tail::kPeel);
  if (turns) {
    const std::int64_t rows = pairs ? std::min(lanes, LargestBlock(most_rows)) : lanes;
    const auto [chunk, inner] = s.Split(columns, row, rows, Tail::kPeel);
    std::vector<LoopId> order = {s.SpatialAxis(columns, 0), block, chunk, inner, lane};
    if (pairs) order.push_back(s.SpatialAxis(columns, 3));
    s.Reorder(columns, order);
    s.Unroll(columns, inner);
    if (pairs) s.Unroll(columns, order.back());
  } else {
    s.Reorder(columns, {s.SpatialAxis(columns, 0), block, row, lane});
  }
  s.Vectorize(columns, lane);
}

void ScheduleColumnsOfBytes(Schedule& s, StageId columns, StageId consumer, LoopId at) {
  constexpr std::int64_t kUnrolled = 4;
  PlaceInside(s, columns, consumer, at);
  const LoopId depth = s.SpatialAxis(columns, 3);
  const auto [steps, step] = s.Split(columns, s.SpatialAxis(columns, 1), kUnrolled, Tail::kPeel);
  s.Reorder(columns, {s.SpatialAxis(columns, 0), s.SpatialAxis(columns, 2), steps, step, depth});
  s.Unroll(columns, step);
  s.Vectorize(columns, depth);
}

}  // namespace tilewright
