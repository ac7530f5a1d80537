// Dense layers with few results. Vectors are along K, so columns need not fill a vector, and the
// weight is not packed. K may be cut into parts that threads sum at the same time, into memory; one
// thread then adds up the parts. The template is preferred if that takes fewer cycles than a packed
// weight, whose vectors are along columns.

#include "src/templates/cpu/templates.h"

#include <algorithm>
#include <set>
#include <vector>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/matmul_tile.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace dense_thin_cpu {
namespace {

constexpr std::int64_t kMaxVectors = 4;  // of a step
constexpr std::int64_t kMaxRows = 8, kMaxColumns = 8;

struct ThinPlan {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lanes = 0, registers = 0, threads = 1;
  std::vector<std::int64_t> parts, steps;  ///< largest last

  std::int64_t weight_bytes() const { return n * k * 4; }
};

Result<ThinPlan> MakeThinPlan(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  ThinPlan plan;
  plan.m = w.data.shape[0], plan.k = w.data.shape[1], plan.n = w.weight.shape[0];
  plan.lanes = features.float_lanes();
  plan.registers = features.vector_registers();
  plan.threads = target.num_threads();
  std::set<std::int64_t> parts = {plan.threads};
  for (std::int64_t p = 1; p <= plan.threads; p *= 2) parts.insert(p);
  for (const std::int64_t p : parts) {
    if (plan.k % (p * plan.lanes) == 0) plan.parts.push_back(p);
  }
  for (std::int64_t vectors = 1; vectors <= kMaxVectors; vectors *= 2) {
    const std::int64_t step = vectors * plan.lanes;
    const auto fits = [&](std::int64_t p) { return plan.k % (p * step) == 0; };
    if (std::ranges::any_of(plan.parts, fits)) plan.steps.push_back(step);
  }
  return plan;
}

/// Whether the sums of a tile and their factors stay in registers.
bool FitsRegisters(const ThinPlan& plan, std::int64_t step, std::int64_t rows,
                   std::int64_t columns) {
  const std::int64_t vectors = step / plan.lanes;
  return (rows * columns + std::min(rows, columns)) * vectors < plan.registers;
}

constexpr KnobDoc kKnobs[] = {
    {"parts",
     "Parts of the reduction that threads sum at the same time, in memory; one thread adds up "
     "the parts. 1 leaves the reduction whole."},
    {"step",
     "Elements of the reduction that one part multiplies at a time, as vectors of partial "
     "sums."},
    {"register_tile", "Rows and columns of the result whose partial sums stay in registers."},
};

Result<ConfigSpace> ThinSpace(const ThinPlan& plan) {
  std::vector<KnobValue> tiles;
  for (std::int64_t rows = 1; rows <= std::min(plan.m, kMaxRows); ++rows) {
    for (std::int64_t columns = 1; columns <= std::min(plan.n, kMaxColumns); ++columns) {
      if (!FitsRegisters(plan, plan.lanes, rows, columns)) continue;
      tiles.emplace_back().value = std::vector<std::int64_t>{rows, columns};
    }
  }
  return MakeSpace({Knob::Other("parts", plan.parts), Knob::Other("step", plan.steps),
                    Knob::Candidates("register_tile", KnobKind::kOther, std::move(tiles))});
}

/// Errors: kInvalidArgument with the part of the config that does not fit the workload.
Status CheckThin(const ThinPlan& plan, std::int64_t parts, std::int64_t step,
                 const std::vector<std::int64_t>& tile) {
  if (parts < 1 || step < plan.lanes || plan.k % (parts * step) != 0) {
    return InvalidArgument(std::to_string(parts) + " parts in steps of " + std::to_string(step) +
                           ", expected what divides " + std::to_string(plan.k));
  }
  if (!FitsRegisters(plan, step, tile[0], tile[1])) {
    return InvalidArgument("steps of " + std::to_string(step) + " in tiles of " +
                           std::to_string(tile[0]) + " x " + std::to_string(tile[1]) +
                           ", expected no more sums than registers");
  }
  return {};
}

struct DefaultPlan {
  std::int64_t parts = 1, step = 0;
  std::vector<std::int64_t> tile;
};

/// Returns the size of equal tiles of `extent` of at most `most`.
std::int64_t EvenTile(std::int64_t extent, std::int64_t most) {
  return CeilDiv(extent, CeilDiv(extent, most));
}

/// Number of tiles of the result.
std::int64_t TilesOf(const ThinPlan& plan, const std::vector<std::int64_t>& tile) {
  return CeilDiv(plan.m, tile[0]) * CeilDiv(plan.n, tile[1]);
}

/// Whether no cache keeps the weight until it is read again. Then several rows at the same time are
/// streams, which are faster than a single one.
bool ExceedsNearCache(const ThinPlan& plan) {
  constexpr std::int64_t kFarBytes = std::int64_t{32} << 20;
  return plan.weight_bytes() >= kFarBytes;
}

DefaultPlan DefaultOf(const ThinPlan& plan) {
  constexpr std::int64_t kWorthWaking = std::int64_t{64} << 10;  // bytes of weight for each thread
  constexpr std::int64_t kEven = 4;    // tiles of a thread that share the work evenly
  constexpr std::int64_t kChains = 8;  // independent sums: two units that take four cycles each
  DefaultPlan chosen;
  std::int64_t rows = EvenTile(plan.m, 4);
  std::int64_t columns = EvenTile(plan.n, rows > 1 ? 4 : kMaxColumns);
  while (!FitsRegisters(plan, plan.lanes, rows, columns)) {
    if (rows > columns) {
      rows = EvenTile(plan.m, rows - 1);
    } else {
      columns = EvenTile(plan.n, columns - 1);
    }
  }
  chosen.tile = {rows, columns};
  const std::int64_t tiles = TilesOf(plan, chosen.tile);
  for (const std::int64_t parts : plan.parts) {
    const bool idle = chosen.parts * tiles < kEven * plan.threads;
    if (idle && plan.weight_bytes() >= parts * kWorthWaking) chosen.parts = parts;
  }
  for (const std::int64_t step : plan.steps) {
    const bool fits =
        plan.k % (chosen.parts * step) == 0 && FitsRegisters(plan, step, rows, columns);
    const bool more = rows * columns * chosen.step < kChains * plan.lanes;
    if (fits && more) chosen.step = step;
  }
  return chosen;
}

/// Cycles of one vector's product and sum, and of reading one: the nearest cache gives as many
/// bytes as are multiplied, the next one half as many.
struct VectorCycles {
  double multiply = 0, read = 0;
};
VectorCycles CyclesOf(const ThinPlan& plan) {
  constexpr double kBytesPerCycle = 64;
  constexpr std::int64_t kNearestBytes = std::int64_t{32} << 10;
  const double multiply = static_cast<double>(plan.lanes * 4) / kBytesPerCycle;
  return {multiply, plan.weight_bytes() <= kNearestBytes ? multiply : 2 * multiply};
}

constexpr double kLaunch = 2500;  // cycles to start threads

/// Estimated cycles of the default config: within a fifth of measurements for 1 to 12 rows, 1 to
/// 100 columns and K of 512 to 25,088.
double Cycles(const ThinPlan& plan) {
  constexpr double kFold = 20;  // of a result
  const DefaultPlan chosen = DefaultOf(plan);
  const VectorCycles cycles = CyclesOf(plan);
  const std::int64_t passes = chosen.parts * TilesOf(plan, chosen.tile);
  const auto rows = static_cast<double>(chosen.tile[0]),
             columns = static_cast<double>(chosen.tile[1]);
  const double of_pass = static_cast<double>(plan.k / plan.lanes / chosen.parts) * columns *
                         std::max(rows * cycles.multiply, cycles.read);
  return static_cast<double>(CeilDiv(passes, plan.threads)) * of_pass +
         kFold * static_cast<double>(plan.m * plan.n) +
         (plan.threads > 1 && passes > 1 ? kLaunch : 0);
}

/// The same for the packed template, whose vectors are along columns.
double PackedCycles(const ThinPlan& plan) {
  constexpr double kLatency = 4;  // of a sum
  const std::int64_t blocks = CeilDiv(plan.n, plan.lanes);
  const MatmulTile tile = DefaultMatmulTile(plan.m, blocks, plan.registers);
  const std::int64_t tiles = CeilDiv(plan.m, tile[0]) * CeilDiv(blocks, tile[1]);
  const VectorCycles cycles = CyclesOf(plan);
  const double of_row = std::max({static_cast<double>(tile[0] * tile[1]) * cycles.multiply,
                                  kLatency, static_cast<double>(tile[1]) * cycles.read});
  return static_cast<double>(CeilDiv(tiles, plan.threads) * plan.k) * of_row +
         (plan.threads > 1 && tiles > 1 ? kLaunch : 0);
}

/// Schedules the sums of the parts, each in its own tiles.
void ScheduleParts(Schedule& s, StageId parts, StageId sums, std::int64_t step,
                   const std::vector<std::int64_t>& tile, const Target& target) {
  const auto [part, lane] = s.Split(parts, s.SpatialAxis(parts, 2), step);
  const auto [y, row] = s.Split(parts, s.SpatialAxis(parts, 0), tile[0], Tail::kPeel);
  const auto [x, column] = s.Split(parts, s.SpatialAxis(parts, 1), tile[1], Tail::kPeel);
  s.Reorder(parts, {part, y, x, row, column, lane});
  s.Vectorize(parts, lane);
  const LoopId outer = FuseAll(s, parts, {part, y, x});
  ParallelFor(s, parts, outer, target);

  s.ComputeAt(sums, parts, outer);
  const LoopId lanes = s.SpatialAxis(sums, 2);
  s.Reorder(sums,
            {s.ReductionAxis(sums, 0), s.SpatialAxis(sums, 0), s.SpatialAxis(sums, 1), lanes});
  s.Unroll(sums, s.SpatialAxis(sums, 0));
  s.Unroll(sums, s.SpatialAxis(sums, 1));
  s.Vectorize(sums, lanes);
}

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string reason = RefusesDense(w); !reason.empty()) return reason;
  if (!IsFloat32(w)) return "only float32";
  auto plan = MakeThinPlan(w, target);
  if (!plan.ok()) return plan.status().message();
  return plan->steps.empty() ? "only sums of whole vectors" : "";
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto plan, MakeThinPlan(w, target));
  TW_ASSIGN_OR_RETURN(auto space, ThinSpace(plan));
  const DefaultPlan chosen = DefaultOf(plan);
  return LocateValues(space, {{"parts", KnobValue{chosen.parts}},
                              {"step", KnobValue{chosen.step}},
                              {"register_tile", KnobValue{chosen.tile}}});
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto plan, MakeThinPlan(w, target));
  const std::int64_t parts = config.Integer("parts"), step = config.Integer("step");
  const std::vector<std::int64_t>& tile = config.Factors("register_tile");
  TW_RETURN_IF_ERROR(CheckThin(plan, parts, step, tile));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  const AnchorStages stages = PrepareStages(s);
  const StageId result = stages.result, sum = stages.sum;
  const StageId in_parts = s.RFactor(sum, 0, parts * step);
  const StageId folded = s.RFactor(sum, 0, step);
  const StageId sums = s.CacheWrite(in_parts, Scope::kLocal);
  ScheduleParts(s, in_parts, sums, step, tile, target);

  // Few elements, computed by one thread: adds up the parts to the lanes of a step, then the lanes.
  const LoopId each = s.SpatialAxis(result, 1);
  s.ComputeAt(sum, result, each);
  s.Unroll(sum, s.ReductionAxis(sum, 0));
  s.SetScope(folded, Scope::kLocal);
  s.ComputeAt(folded, sum, s.SpatialAxis(sum, 1));
  s.Reorder(folded, {s.ReductionAxis(folded, 0), s.SpatialAxis(folded, 0), s.SpatialAxis(folded, 1),
                     s.SpatialAxis(folded, 2)});
  s.Vectorize(folded, s.SpatialAxis(folded, 2));
  return FinishKernel(std::move(s));
}

bool IsPreferred(const Workload& w, const Target& target) {
  constexpr double kClearly = 0.8;
  auto plan = MakeThinPlan(w, target);
  if (!plan.ok()) return false;
  return (plan->m == 1 && ExceedsNearCache(*plan)) ||
         Cycles(*plan) < kClearly * PackedCycles(*plan);
}

}  // namespace
}  // namespace dense_thin_cpu

TemplateEntry DenseThinCpuEntry() {
  using namespace dense_thin_cpu;
  TemplateEntry entry =
      LoopTemplate("dense_thin.cpu", 1, "llvm", kKnobs, &Refuses,
                   &SpaceByPlan<&MakeThinPlan, &ThinSpace>, &DefaultConfig, &Apply);
  entry.is_preferred = &IsPreferred;
  return entry;
}

}  // namespace tilewright
