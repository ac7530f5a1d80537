#include "src/templates/cpu/templates.h"

#include <algorithm>

#include "src/base/math.h"
#include "src/templates/cpu/dot_choice.h"
#include "src/templates/matmul_tile.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace dense_packed_cpu {
namespace {

struct Plan {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lanes = 0, registers = 0, blocks = 0;
  int depth = 0;
  std::string dot;
  KernelLayouts layouts;
};

/// padded: K is extended by zeros to a multiple of the dot product's depth.
Result<Plan> PlanOf(const Workload& w, const Target& target, bool padded) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  Plan plan;
  plan.m = w.data.shape[0], plan.k = w.data.shape[1], plan.n = w.weight.shape[0];
  plan.lanes = features.float_lanes();
  plan.registers = features.vector_registers();
  plan.blocks = CeilDiv(plan.n, plan.lanes);
  if (IsFloat16(w)) plan.layouts.multiply_dtype = kFloat32;
  if (!IsInt8(w) && !IsBFloat16(w)) return plan;
  DotChoice dot = ChooseDot(features, w);
  if (IsInt8(w) && plan.k % dot.depth != 0 && !padded) {  // by words, if bytes do not divide K
    Workload wide = w;
    wide.reduced_range_weights = false;
    dot = ChooseDot(features, wide);
  }
  plan.depth = dot.depth;
  plan.dot = dot.name;
  plan.registers -= std::max<std::int64_t>(dot.registers - kTileReserve, 0);
  if (IsInt8(w) && plan.k % plan.depth != 0 && !padded) {
    plan.depth = 0;  // plain products
    return plan;
  }
  plan.layouts.shift_data = dot.shift_data;
  plan.layouts.multiply_dtype = dot.multiply_dtype;
  return plan;
}

Result<Plan> MakePlan(const Workload& w, const Target& target) { return PlanOf(w, target, false); }
Result<Plan> MakePaddedPlan(const Workload& w, const Target& target) {
  return PlanOf(w, target, true);
}
using PlanMaker = Result<Plan> (*)(const Workload&, const Target&);

/// All columns of a register tile are one block of the weight, so that it is read as a single
/// stream.
KernelLayouts FormOf(const Plan& plan, std::int64_t columns) {
  KernelLayouts layouts = plan.layouts;
  layouts.weight = Blocked("NK", columns, 'n');
  if (plan.depth > 0) layouts.weight = Blocked(layouts.weight, plan.depth, 'k');
  return layouts;
}

constexpr KnobDoc kKnobs[] = {
    {"register_tile",
     "Rows and blocks of columns whose sums stay in registers. A block is as many columns as a"
     " vector has elements. The weight is packed in blocks of the columns of the tile."},
    {"k_unroll",
     "Steps of the reduction that are unrolled. A step is one product, or for 8-bit and "
     "bfloat16 data the products of one dot product."},
};

Result<ConfigSpace> SpaceOf(const Plan& plan) {
  return MakeSpace({Knob::Lists("register_tile", MatmulTiles(plan.m, plan.blocks, plan.registers)),
                    Knob::Other("k_unroll", {1, 2, 4, 8, 16})});
}

/// Limit of rows in a tile. Rows of data that are a multiple of a page apart are in one set of the
/// nearest cache, which has eight ways: with twelve rows, none would be in the cache when its next
/// element is read.
std::int64_t MaxRows(const Workload& w, const Plan& plan) {
  constexpr std::int64_t kBytesOfWay = 4096, kWays = 8;
  return plan.k * w.data.dtype.bytes() % kBytesOfWay == 0 ? kWays : plan.m;
}

std::string RefusesPadded(const Workload& w, const Target& target) {
  if (std::string reason = RefusesDense(w); !reason.empty()) return reason;
  if (!IsInt8(w)) return "only 8-bit data summed in int32";
  auto plan = MakePaddedPlan(w, target);
  if (!plan.ok()) return plan.status().message();
  return plan->k % plan->depth == 0 ? "only sums that no dot product divides" : "";
}

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string reason = RefusesDense(w); !reason.empty()) return reason;
  if (!IsFloat32(w) && !w.data.dtype.is_half() && !IsInt8(w)) {
    return "only floats of 16 and 32 bits, or 8-bit summed in int32";
  }
  return MakePlan(w, target).status().message();
}

template <PlanMaker kMakePlan>
Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto plan, kMakePlan(w, target));
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(plan));
  const MatmulTile best = DefaultMatmulTile(plan.m, plan.blocks, plan.registers, MaxRows(w, plan));
  return LocateValues(
      space, {{"register_tile", KnobValue{best}}, {"k_unroll", KnobValue{std::int64_t{4}}}});
}

template <PlanMaker kMakePlan>
Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto plan, kMakePlan(w, target));
  const MatmulTile& tile = config.Factors("register_tile");
  const std::int64_t columns = tile[1] * plan.lanes;
  const KernelLayouts layouts = FormOf(plan, columns);
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum;

  const MatmulLoops loops = TileMatmulResult(s, result, false, tile, plan.lanes);
  const LoopId outer = FuseAll(s, result, {loops.group, loops.rows});
  ParallelFor(s, result, outer, target);
  s.ComputeAt(sum, result, outer);
  TileMatmulSum(s, sum, false, plan.lanes, config.Integer("k_unroll"),
                plan.depth > 0 ? plan.dot : std::string());
  if (stages.has_pad) ScheduleFlat(s, stages.pad, plan.lanes, target);
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace dense_packed_cpu

TemplateEntry DensePackedCpuEntry() {
  using namespace dense_packed_cpu;
  return LoopTemplate("dense_packed.cpu", 1, "llvm", kKnobs, &Refuses,
                      &SpaceByPlan<&MakePlan, &SpaceOf>, &DefaultConfig<&MakePlan>,
                      &Apply<&MakePlan>);
}

TemplateEntry DensePaddedInt8CpuEntry() {
  using namespace dense_packed_cpu;
  return LoopTemplate("dense_padded_int8.cpu", 1, "llvm", kKnobs, &RefusesPadded,
                      &SpaceByPlan<&MakePaddedPlan, &SpaceOf>, &DefaultConfig<&MakePaddedPlan>,
                      &Apply<&MakePaddedPlan>);
}

}  // namespace tilewright
