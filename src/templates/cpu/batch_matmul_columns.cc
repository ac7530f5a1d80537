// Products of matrices that are both computed, with vectors along the columns of the result.
// Columns that are adjacent in memory (layout BKN) are read where they are; or else those of a
// group are copied next to each other, for all rows: converted, transposed if the memory has rows
// of K, and in pairs for the dot products of the target.

#include <string>
#include <string_view>
#include <vector>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/cpu/templates.h"
#include "src/templates/matmul_tile.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace batch_matmul_columns_cpu {
namespace {

constexpr std::int64_t kFewRows = 8;  // with fewer, copying takes as long as multiplying

struct ColumnsPlan {
  MatmulSizes sizes{};
  std::int64_t lanes = 0, registers = 0, blocks = 0;
  bool adjacent = false;         ///< the columns, in memory
  std::string_view dot;          ///< of copied columns; empty for plain products
  std::optional<DataType> wide;  ///< type of copied columns and data, if not their own
};

Result<ColumnsPlan> MakeColumnsPlan(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  ColumnsPlan plan;
  plan.sizes = MatmulSizesOf(w);
  plan.lanes = features.float_lanes();
  plan.registers = features.vector_registers();
  plan.blocks = CeilDiv(plan.sizes.n, plan.lanes);
  plan.adjacent = w.kernel_layout == "BKN";
  if (IsInt16(w)) plan.dot = "dot2.s16";
  if (IsBFloat16(w)) plan.dot = "dot2.bf16";
  return plan;
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile",
     "Rows and blocks of columns whose sums stay in registers. A block is as many columns as a"
     " vector has elements."},
    {"k_unroll", "Products of one sum that are unrolled; of copied 16-bit data, pairs of them."},
    {"copied",
     "1: the columns of a group are copied next to each other for all rows, 0: they are read where "
     "they are."},
};

Result<ConfigSpace> SpaceOf(const ColumnsPlan& plan) {
  std::vector<std::int64_t> copied = {1};
  if (plan.adjacent) copied = {0, 1};
  return MakeSpace(
      {Knob::Lists("register_tile", MatmulTiles(plan.sizes.m, plan.blocks, plan.registers)),
       Knob::Other("k_unroll", {1, 2, 4, 8, 16}), Knob::Other("copied", std::move(copied))});
}

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kBatchMatmul) return "only batch_matmul";
  if (w.data_layout != "BMK" || (w.kernel_layout != "BNK" && w.kernel_layout != "BKN")) {
    return "only BMK data and BNK or BKN weights";
  }
  if (IsInt16(w)) return "";
  if (!IsFloat32(w) && !IsFloat16(w) && !IsBFloat16(w)) {
    return "only floats of 16 and 32 bits, or int16 data summed in int32";
  }
  if (w.kernel_layout == "BNK" && w.data.shape[1] >= kFewRows) {
    return "only fewer than 8 rows, or columns that are adjacent in memory";
  }
  return MakeColumnsPlan(w, target).status().message();
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto plan, MakeColumnsPlan(w, target));
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(plan));
  const std::int64_t copied = plan.adjacent && plan.sizes.m < kFewRows ? 0 : 1;
  MatmulTile tile = DefaultMatmulTile(plan.sizes.m, plan.blocks, plan.registers);
  return LocateValues(space, {{"register_tile", KnobValue{std::move(tile)}},
                              {"k_unroll", KnobValue{std::int64_t{4}}},
                              {"copied", KnobValue{copied}}});
}

/// Schedules the data of a row tile as the sums read them.
void ScheduleData(Schedule& s, StageId pad, StageId result, LoopId at, std::int64_t lanes) {
  PlaceInside(s, pad, result, at);
  const auto [block, lane] = s.Split(pad, s.SpatialAxis(pad, 2), lanes, Tail::kPeel);
  s.Reorder(pad, {s.SpatialAxis(pad, 0), s.SpatialAxis(pad, 1), block, lane});
  s.Vectorize(pad, lane);
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto plan, MakeColumnsPlan(w, target));
  const bool copied = config.Integer("copied") != 0;
  const std::string dot(copied ? plan.dot : "");
  TW_ASSIGN_OR_RETURN(auto compute,
                      copied ? DefineWithCopiedColumns(w, epilogue) : DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result;

  const BatchedTiles tiles = ScheduleBatchedProduct(s, stages, config, target, plan.lanes, dot);
  if (copied) ScheduleColumns(s, s.Stage("columns"), result, tiles.outer, plan.lanes);
  if (stages.has_pad) ScheduleData(s, stages.pad, result, tiles.rows, plan.lanes);
  std::vector<std::string> arranged;
  if (copied) arranged.emplace_back("copied_columns");
  return FinishKernel(std::move(s), {}, std::move(arranged));
}

/// Rows along K in whole vectors are summed in parts (batch_matmul.x86), without transposing them.
bool IsPreferred(const Workload& w, const Target& target) {
  const auto plan = MakeColumnsPlan(w, target);
  return plan.ok() && (plan->adjacent || IsInt16(w) || plan->sizes.k % plan->lanes != 0);
}

}  // namespace
}  // namespace batch_matmul_columns_cpu

TemplateEntry BatchMatmulColumnsCpuEntry() {
  using namespace batch_matmul_columns_cpu;
  TemplateEntry entry =
      LoopTemplate("batch_matmul_columns.cpu", 1, "llvm", kKnobs, &Refuses,
                   &SpaceByPlan<&MakeColumnsPlan, &SpaceOf>, &DefaultConfig, &Apply);
  entry.is_preferred = &IsPreferred;
  return entry;
}

}  // namespace tilewright
