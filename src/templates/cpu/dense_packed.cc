#include "src/templates/cpu/dense_packed.h"

#include <algorithm>
#include <vector>

#include "src/base/math.h"
#include "src/templates/cpu/dot_choice.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

constexpr std::int64_t kDefaultBlocks = 8;

struct Plan {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lanes = 0, registers = 0, blocks = 0;
  int depth = 0;
  std::string dot;
  AnchorForm form;
};

Result<Plan> MakePlan(const Workload& w, const Target& target) {
  auto features = FeaturesOf(target);
  TW_RETURN_IF_ERROR(features);
  Plan plan;
  plan.m = w.data.shape[0], plan.k = w.data.shape[1], plan.n = w.weight.shape[0];
  plan.lanes = features->float_lanes();
  plan.registers = features->vector_registers();
  plan.blocks = CeilDiv(plan.n, plan.lanes);
  if (!IsInt8(w)) return plan;
  const DotChoice dot = ChooseDot(*features, w.data.dtype);
  plan.depth = dot.depth;
  plan.dot = dot.name;
  if (plan.k % plan.depth != 0) {
    plan.depth = 0;  // plain products; such sizes do not occur in networks worth tuning
    return plan;
  }
  plan.form.shift_data = dot.shift_data;
  plan.form.multiply_dtype = dot.multiply_dtype;
  return plan;
}

/// All columns of a register tile are one block of the weight: a single stream, however many sums.
AnchorForm FormOf(const Plan& plan, std::int64_t columns) {
  AnchorForm form = plan.form;
  form.weight = Blocked("NK", columns, 'n');
  if (plan.depth > 0) form.weight = Blocked(form.weight, plan.depth, 'k');
  return form;
}

using Tile = std::vector<std::int64_t>;  // rows, blocks of columns

std::vector<Tile> RegisterTiles(const Plan& plan) {
  constexpr std::int64_t kMostRows = 14, kMostBlocks = 16;
  constexpr std::int64_t kReserved = 2;  // a value of the data and a product
  std::vector<Tile> tiles;
  for (std::int64_t row : ThriftyTiles(plan.m, kMostRows)) {
    for (std::int64_t block : ThriftyTiles(plan.blocks, kMostBlocks)) {
      const std::int64_t weights = row > 1 ? block : 0;  // read straight from memory for one row
      if (row * block + weights + kReserved <= plan.registers) tiles.push_back({row, block});
    }
  }
  return tiles;
}

Result<ConfigSpace> SpaceOf(const Plan& plan) {
  std::vector<KnobValue> tiles;
  for (Tile& tile : RegisterTiles(plan)) tiles.emplace_back().value = std::move(tile);
  return MakeSpace({Knob::Candidates("register_tile", KnobKind::kOther, std::move(tiles)),
                    Knob::Other("k_unroll", {1, 2, 4, 8, 16})});
}

}  // namespace

std::string DensePackedCpu::Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kDense) return "only dense";
  if (w.data_layout != "MK" || w.kernel_layout != "NK") return "only MK data and NK weights";
  if (!IsFloat32(w) && !IsInt8(w)) return "only float32, or 8-bit summed in int32";
  auto plan = MakePlan(w, target);
  return plan.ok() ? "" : plan.status().message();
}

Result<ConfigSpace> DensePackedCpu::DefineSpace(const Workload& w, const Target& target) {
  auto plan = MakePlan(w, target);
  TW_RETURN_IF_ERROR(plan);
  return SpaceOf(*plan);
}

Result<Config> DensePackedCpu::DefaultConfig(const Workload& w, const Target& target) {
  auto plan = MakePlan(w, target);
  TW_RETURN_IF_ERROR(plan);
  auto space = SpaceOf(*plan);
  TW_RETURN_IF_ERROR(space);
  // As many sums as fit beside weights and data: one row has little else to hide latencies with.
  Tile best = {1, 1};
  for (const Tile& tile : RegisterTiles(*plan)) {
    const bool fits = 4 * Product(tile) <= 3 * plan->registers && tile[1] <= kDefaultBlocks;
    if (fits && Product(tile) >= Product(best)) best = tile;
  }
  return LocateValues(
      *space, {{"register_tile", KnobValue{best}}, {"k_unroll", KnobValue{std::int64_t{4}}}});
}

Result<Kernel> DensePackedCpu::Apply(const Workload& w, const Epilogue& epilogue,
                                     const Target& target, const Config& config) {
  auto plan = MakePlan(w, target);
  TW_RETURN_IF_ERROR(plan);
  const Tile& tile = config.Factors("register_tile");
  const std::int64_t columns = tile[1] * plan->lanes;
  const AnchorForm form = FormOf(*plan, columns);
  auto compute = DefineAnchor(w, epilogue, form);
  TW_RETURN_IF_ERROR(compute);
  Schedule s(*std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum;

  const auto [row_tile, row] = s.Split(result, s.SpatialAxis(result, 0), tile[0], Tail::kPeel);
  const auto [group, column] = s.Split(result, s.SpatialAxis(result, 1), columns, Tail::kPeel);
  const auto [block, lane] = s.Split(result, column, plan->lanes, Tail::kPeel);
  s.Reorder(result, {group, row_tile, row, block, lane});
  s.Unroll(result, row);
  s.Unroll(result, block);
  s.Vectorize(result, lane);
  const LoopId outer = FuseAll(s, result, {group, row_tile});
  ParallelFor(s, result, outer, target);

  s.ComputeAt(sum, result, outer);
  const LoopId sum_row = s.SpatialAxis(sum, 0);
  const auto [sum_block, sum_lane] = s.Split(sum, s.SpatialAxis(sum, 1), plan->lanes, Tail::kPeel);
  const auto [k_step, k_unrolled] =
      s.Split(sum, s.ReductionAxis(sum, 0), config.Integer("k_unroll"), Tail::kPeel);
  std::vector<LoopId> order = {k_step, k_unrolled, sum_row, sum_block, sum_lane};
  if (plan->depth > 0) order.push_back(s.ReductionAxis(sum, 1));
  s.Reorder(sum, order);
  s.Unroll(sum, k_unrolled);
  s.Unroll(sum, sum_row);
  s.Unroll(sum, sum_block);
  if (plan->depth > 0) {
    s.Tensorize(sum, sum_lane, plan->dot);
  } else {
    s.Vectorize(sum, sum_lane);
  }
  if (stages.has_pad) ScheduleFlat(s, stages.pad, plan->lanes, target);
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), form};
}

}  // namespace tilewright
