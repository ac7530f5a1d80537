// Products of bytes and of bfloat16 in tile registers (AMX). A statement computes up to 2 x 2 or
// 1 x 4 tiles of 16 x 16 sums over all products (src/schedule/intrinsics.h). The second factor is
// packed in words of four bytes: [columns / tile][steps][groups][columns of the tile][4 or 2].
// Sums of a length that no step divides read data that are copied with zeros at the end. Rows and
// columns in no tile of 16 take smaller tiles, which have a configuration of their own.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/base/math.h"
#include "src/schedule/intrinsics.h"
#include "src/target/cpu.h"
#include "src/templates/cpu/templates.h"
#include "src/templates/matmul_tile.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace tile_products_cpu {
namespace {

constexpr std::int64_t kTileRows = TileIntrinsic::kRows, kTileColumns = TileIntrinsic::kColumns;
// A tile of the second factor takes 8 cycles to load, whatever the rows, and 16 to multiply with
// all 16 rows. Vectors take 8 cycles for each row.
constexpr std::int64_t kFewestRows = 4;

struct Plan {
  Workload workload;
  std::int64_t m = 0, n = 0, k = 0;  ///< rows that one statement can have, columns, products
  std::int64_t outer = 1;            ///< sets of rows beside each other: images x rows of an image
  int row_axis = 0;                  ///< of the result; the next one are the columns
  int depth = 0;
  std::int64_t groups = 0;  ///< words of a step
  std::string intrinsic;
  std::int64_t lanes = 0;
};

/// Returns the intrinsic for the types; empty if the target has none.
std::string_view IntrinsicFor(const Workload& w, const CpuFeatures& features) {
  if (IsInt8(w) && features.amx_int8) {
    return w.data.dtype == kInt8 ? "tiles.s8s8" : "tiles.u8s8";
  }
  return IsBFloat16(w) && features.amx_bf16 ? "tiles.bf16" : "";
}

/// Chooses steps of equal length, as few as possible: one that divides K needs no copy of the data.
void SetSteps(Plan& plan) {
  plan.depth = FindTileIntrinsic(plan.intrinsic)->depth;
  const std::int64_t steps = CeilDiv(plan.k, kTileRows * plan.depth);
  plan.groups = CeilDiv(CeilDiv(plan.k, steps), plan.depth);
}

Result<Plan> MakePlan(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  Plan plan;
  plan.workload = w;
  plan.intrinsic = IntrinsicFor(w, features);
  if (plan.intrinsic.empty()) {
    return Unsupported("only 8-bit data summed in int32 and bfloat16, on CPUs with AMX");
  }
  plan.lanes = features.float_lanes();
  if (w.op == OpKind::kConv2d) {
    TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
    if (shape.groups != 1) return Unsupported("only convolutions of one group");
    const bool flat = IsFlatConvolution(shape);
    plan.workload = PlainConvolution(w, shape, flat);
    plan.m = flat ? shape.oh * shape.ow : shape.ow;
    plan.n = shape.k, plan.k = shape.c;
    plan.outer = flat ? shape.n : shape.n * shape.oh;
    plan.row_axis = 2;
  } else {
    const MatmulSizes sizes = MatmulSizesOf(w);
    plan.m = sizes.m, plan.n = sizes.n, plan.k = sizes.k;
    plan.row_axis = w.op == OpKind::kBatchMatmul ? 1 : 0;
  }
  if (plan.m < kFewestRows) return Unsupported("only 4 rows or more");
  SetSteps(plan);
  return plan;
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile",
     "Tiles of 16 rows and of 16 columns whose sums stay in tile registers. Rows are spread "
     "evenly over as many statements as that needs."},
    {"columns_inside",
     "1: a group of rows takes all columns before the next one; the second factor is read again "
     "for each. 0: a group of columns takes all rows; the data are read again."},
};

/// Rows of a statement with this many tiles of rows.
std::int64_t RowsOf(const Plan& plan, std::int64_t tiles) {
  return CeilDiv(plan.m, CeilDiv(plan.m, kTileRows * tiles));
}

/// Returns true if the registers suffice, also where rows and columns end.
bool Fits(const Plan& plan, std::int64_t row_tiles, std::int64_t column_tiles) {
  const auto parts = [](std::int64_t extent, std::int64_t tile) {
    std::vector<std::int64_t> sizes = {std::min(extent, tile)};
    if (extent % tile != 0) sizes.push_back(extent % tile);
    return sizes;
  };
  for (const std::int64_t rows : parts(plan.m, RowsOf(plan, row_tiles))) {
    for (const std::int64_t columns : parts(plan.n, column_tiles * kTileColumns)) {
      if (!TileRegisterShape{rows, columns, plan.groups}.fits()) return false;
    }
  }
  return true;
}

std::vector<MatmulTile> TilesOf(const Plan& plan) {
  constexpr std::int64_t kMax = 4;
  std::vector<MatmulTile> tiles;
  for (std::int64_t row = 1; row <= kMax; ++row) {
    // Where fewer tiles hold the same rows, they are another config.
    if (CeilDiv(RowsOf(plan, row), kTileRows) != row) continue;
    for (std::int64_t col = 1; col <= std::min(kMax, CeilDiv(plan.n, kTileColumns)); ++col) {
      if (Fits(plan, row, col)) tiles.push_back({row, col});
    }
  }
  return tiles;
}

Result<ConfigSpace> SpaceOf(const Plan& plan) {
  std::vector<std::int64_t> orders = {0};
  // A second factor that is no constant is packed for all rows.
  if (plan.workload.op != OpKind::kBatchMatmul) orders.push_back(1);
  return MakeSpace(
      {Knob::Lists("register_tile", TilesOf(plan)), Knob::Other("columns_inside", orders)});
}

/// Takes the tile with the fewest loads for each product: two loads of 16 lines, 8 cycles each,
/// take as long as one product. The smaller operand is the one that is read again.
Result<Config> DefaultOf(const Plan& plan) {
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(plan));
  const auto loads = [](const MatmulTile& tile) {
    return static_cast<double>(tile[0] + tile[1]) / static_cast<double>(tile[0] * tile[1]);
  };
  MatmulTile best = {1, 1};
  for (const MatmulTile& tile : TilesOf(plan)) {
    if (loads(tile) < loads(best)) best = tile;
  }
  const bool many_rows = plan.outer * plan.m > plan.n;
  const bool columns_inside = many_rows && plan.workload.op != OpKind::kBatchMatmul;
  return LocateValues(space, {{"register_tile", KnobValue{best}},
                              {"columns_inside", KnobValue{std::int64_t{columns_inside ? 1 : 0}}}});
}

/// Layouts of the kernel for a statement's columns; the second factor as it is multiplied.
KernelLayouts LayoutsFor(const Plan& plan, std::int64_t columns) {
  KernelLayouts layouts;
  const OpKind op = plan.workload.op;
  if (op == OpKind::kConv2d) {
    layouts.data = layouts.output = "NHWC";
    layouts.weight = fmt::format("OIHW{}i{}o{}i", plan.groups, columns, plan.depth);
  } else {
    layouts.weight = fmt::format("{}NK{}k{}n{}k", op == OpKind::kBatchMatmul ? "B" : "",
                                 plan.groups, columns, plan.depth);
  }
  return layouts;
}

/// Inserts the stage "columns", which packs a second factor that is no constant. packed: its
/// layout.
void PackColumns(Compute& compute, const Workload& w, const Layout& packed) {
  const Buffer copy = compute.inputs[1];
  const std::vector<std::int64_t> steps = packed.Steps();
  ComputeOp columns;
  columns.name = "columns";
  columns.output = MakeBuffer("columns", copy->dtype, copy->shape);
  Expr batch, n = Expr(0), k = Expr(0);
  for (std::size_t i = 0; i < packed.parts().size(); ++i) {
    const char dimension = packed.parts()[i].dimension;
    columns.axes.push_back({MakeVar(std::string(1, dimension)), copy->shape[i], false});
    const Expr element = columns.axes.back().var * Expr(steps[i]);
    if (dimension == 'B') batch = columns.axes.back().var;
    if (dimension == 'N') n = n + element;
    if (dimension == 'K') k = k + element;
  }
  const MatmulSizes sizes = MatmulSizesOf(w);
  compute.inputs[1] = MakeBuffer("weight", w.weight.dtype, w.weight.shape);
  std::vector<Expr> indices = {batch, n, k};
  if (w.kernel_layout == "BKN") std::swap(indices[1], indices[2]);
  columns.body = MakeLoad(compute.inputs[1], std::move(indices));
  const std::vector<std::int64_t> reached = packed.Unpack(copy->shape);
  Expr inside;
  if (reached[1] > sizes.n) inside = Lt(n, Expr(sizes.n));
  if (reached[2] > sizes.k) {
    const Expr within = Lt(k, Expr(sizes.k));
    inside = inside ? And(inside, within) : within;
  }
  if (inside) columns.body = MakeSelect(inside, columns.body, MakeConst(copy->dtype, 0));
  ReadCopied(compute, copy, std::move(columns));
}

/// Schedules the packed second factor of a statement's columns: words of neighbours in a sum, or
/// pairs of rows of columns.
void SchedulePackedColumns(Schedule& s, const Workload& w, StageId consumer, LoopId at) {
  const StageId columns = s.Stage("columns");
  PlaceInside(s, columns, consumer, at);
  const LoopId lane = s.SpatialAxis(columns, 4), depth = s.SpatialAxis(columns, 5);
  if (w.kernel_layout == "BKN") {
    s.Unroll(columns, depth);
    s.Vectorize(columns, lane);
  } else {
    s.Vectorize(columns, depth);
  }
}

Result<Kernel> ApplyPlan(const Plan& plan, const Workload&, const Epilogue& epilogue,
                         const Target& target, const Config& config) {
  const Workload& w = plan.workload;
  const MatmulTile& tile = config.Factors("register_tile");
  const std::int64_t rows = RowsOf(plan, tile[0]), columns = tile[1] * kTileColumns;
  KernelLayouts layouts = LayoutsFor(plan, columns);
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  const bool batched = w.op == OpKind::kBatchMatmul;
  if (batched) {
    TW_ASSIGN_OR_RETURN(const auto packed, Layout::Parse(layouts.weight));
    PackColumns(compute, w, packed);
    layouts.weight.clear();
  }
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result;

  const auto [row_tile, row] =
      s.Split(result, s.SpatialAxis(result, plan.row_axis), rows, Tail::kPeel);
  const auto [column_tile, column] =
      s.Split(result, s.SpatialAxis(result, plan.row_axis + 1), columns, Tail::kPeel);
  const auto [block, lane] = s.Split(result, column, plan.lanes, Tail::kPeel);
  std::vector<LoopId> outer;
  for (int axis = 0; axis < plan.row_axis; ++axis) outer.push_back(s.SpatialAxis(result, axis));
  outer.push_back(row_tile);
  const bool columns_inside = config.Integer("columns_inside") != 0;
  outer.insert(columns_inside ? outer.end()
               : batched      ? outer.end() - 1
                              : outer.begin(),
               column_tile);
  std::vector<LoopId> order = outer;
  order.insert(order.end(), {row, block, lane});
  s.Reorder(result, order);
  s.Unroll(result, block);
  s.Vectorize(result, lane);

  LoopId at = outer.back(), packs;
  if (batched) {
    outer.pop_back();
    packs = FuseAll(s, result, outer);
    ParallelFor(s, result, packs, target);
  } else if (target.num_threads() > 1) {
    at = FuseAll(s, result, outer);
    ParallelFor(s, result, at, target);
  }
  s.ComputeAt(stages.sum, result, at);
  s.Tensorize(stages.sum, s.SpatialAxis(stages.sum, plan.row_axis), plan.intrinsic);
  if (batched) SchedulePackedColumns(s, w, result, packs);
  if (stages.has_pad) ScheduleFlat(s, stages.pad, plan.lanes, target);
  return FinishKernel(std::move(s), layouts);
}

std::string RefusesPlan(const Workload& w, const Target& target) {
  return MakePlan(w, target).status().message();
}

std::string RefusesDenseProduct(const Workload& w, const Target& target) {
  if (std::string reason = RefusesDense(w); !reason.empty()) return reason;
  return RefusesPlan(w, target);
}

std::string RefusesBatch(const Workload& w, const Target& target) {
  if (w.op != OpKind::kBatchMatmul) return "only batch_matmul";
  // Bytes of four rows would have to be interleaved.
  const bool columns = w.kernel_layout == "BKN" && IsBFloat16(w);
  if (w.data_layout != "BMK" || (w.kernel_layout != "BNK" && !columns)) {
    return "only BMK data and BNK weights, or BKN of bfloat16";
  }
  return RefusesPlan(w, target);
}

std::string RefusesConvolution(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d) return "only convolutions";
  // With fewer channels or filters, tiles would be mostly empty.
  constexpr std::int64_t kFewest = 16;
  const auto shape = ConvShapeOf(w);
  if (!shape.ok()) return shape.status().message();
  if (shape->c < kFewest || shape->k < kFewest) return "only 16 channels and filters or more";
  return RefusesPlan(w, target);
}

TemplateEntry EntryOf(std::string_view key, decltype(TemplateEntry::refuses) refuses) {
  TemplateEntry entry =
      LoopTemplate(key, 1, "llvm", kKnobs, refuses, &SpaceByPlan<&MakePlan, &SpaceOf>,
                   &DefaultByPlan<&MakePlan, &DefaultOf>, &ApplyByPlan<&MakePlan, &ApplyPlan>);
  // Also to the templates that others give way to: a product of tiles is the fastest.
  entry.is_preferred = +[](const Workload&, const Target&) { return true; };
  return entry;
}

}  // namespace
}  // namespace tile_products_cpu

TemplateEntry DenseAmxCpuEntry() {
  return tile_products_cpu::EntryOf("dense_amx.cpu", &tile_products_cpu::RefusesDenseProduct);
}

TemplateEntry BatchMatmulAmxCpuEntry() {
  return tile_products_cpu::EntryOf("batch_matmul_amx.cpu", &tile_products_cpu::RefusesBatch);
}

TemplateEntry Conv2dAmxCpuEntry() {
  return tile_products_cpu::EntryOf("conv2d_amx.cpu", &tile_products_cpu::RefusesConvolution);
}

}  // namespace tilewright
