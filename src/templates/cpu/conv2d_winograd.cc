// Winograd's convolution for CPUs with channels in blocks of one vector. All data are transformed
// first, or one row of tiles at a time. Then, for a group of output channels and a run of tiles,
// the products are summed in registers, kept in the private cache and transformed back, with the
// epilogue. For 8-bit integers, data and weights are transformed to 16 bits by integers, pairs of
// products are summed in 32 bits modulo 2^32, and the result is divided by the factor of the
// transforms (src/tensor/compute/winograd_integer.h). Data of 16-bit floats are transformed in
// float32.

#include "src/templates/cpu/templates.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <vector>

#include "src/base/math.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/cpu/winograd_plan.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"
#include "src/tensor/compute/winograd_integer.h"

namespace tilewright {
namespace conv2d_winograd_cpu {
namespace {

constexpr std::int64_t kMaxBlocks = 4;    // of output channels, in one group
constexpr std::int64_t kMaxUnrolled = 4;  // input channels
constexpr std::int64_t kMinStep = 4;      // shorter loops over channels cost more than they do

using Tile = std::vector<std::int64_t>;  // blocks of output channels, tiles of a run

/// Returns the tiles whose sums fit into registers and whose products fit into local memory for
/// some tile size.
std::vector<Tile> RegisterTiles(const WinogradPlan& plan) {
  const std::int64_t least = TileSizes(plan).back();
  std::vector<Tile> tiles;
  for (std::int64_t blocks = 1; blocks <= std::min(kMaxBlocks, plan.oc_blocks); ++blocks) {
    const std::int64_t most = (plan.registers - blocks - 1) / blocks;
    std::set<std::int64_t> runs;
    for (const std::int64_t m : TileSizes(plan)) {
      for (const bool by_rows : {true, false}) {
        const auto sizes = MinWasteTiles(TilesOf(plan, m, by_rows), most);
        runs.insert(sizes.begin(), sizes.end());
      }
    }
    for (std::int64_t run : runs) {
      if (LocalBytes(plan, least, blocks, run) <= LowerLimits().max_local_bytes) {
        tiles.push_back({blocks, run});
      }
    }
  }
  return tiles;
}

constexpr KnobDoc kKnobs[] = {
    {"tile", "Rows and columns of the result that one Winograd tile computes."},
    {"register_tile",
     "Blocks of output channels and Winograd tiles whose sums of products stay in registers."},
    {"ic_unroll", "Input channels that are unrolled; pairs of them for 8-bit data."},
    {"channels_first",
     "true puts the loop over groups of output channels outside the loop over runs of Winograd"
     " tiles, false inside."},
    {"data",
     "When the data are transformed. `all`: before the first product; `rows`: one row of "
     "Winograd tiles at a time, just before its products."},
};

Result<ConfigSpace> SpaceOf(const WinogradPlan& plan) {
  std::vector<std::int64_t> unrolls;
  for (std::int64_t u = 1; u <= std::min(kMaxUnrolled, plan.ic_step / (plan.whole ? 2 : 1)); u *= 2)
    unrolls.push_back(u);
  std::vector<std::string> data = {"all"};  // transformed first, or by rows of tiles
  if (RowBytes(plan, TileSizes(plan).back()) <= kMaxRowBytes) data.emplace_back("rows");
  return MakeSpace(
      {Knob::Other("tile", TileSizes(plan)), Knob::Lists("register_tile", RegisterTiles(plan)),
       Knob::Other("ic_unroll", std::move(unrolls)), Knob::Bool("channels_first", {true, false}),
       Knob::Words("data", std::move(data))});
}

/// Returns the tile with the fewest cycles. Sums are in registers; the more there are, the fewer
/// loads. Weights that exceed the private caches are read again for each run of tiles. Threads that
/// share groups and runs unevenly wait for one another.
Tile DefaultTile(const WinogradPlan& plan, std::int64_t m, bool by_rows) {
  const std::int64_t tiles = TilesOf(plan, m, by_rows);
  const auto cycles = [&](const Tile& t) {
    const auto sums = static_cast<double>(t[0] * t[1]);
    const auto whole = static_cast<double>(RoundUp(plan.oc_blocks, t[0]) * RoundUp(tiles, t[1]));
    const double loads = std::max(1.0, 0.65 * static_cast<double>(t[0] + t[1]) * 2 / sums);
    const std::int64_t passes = CeilDiv(plan.oc_blocks, t[0]) * CeilDiv(tiles, t[1]);
    const std::int64_t turns = by_rows ? passes : RoundUp(passes, plan.threads);
    const double waits = static_cast<double>(turns) / static_cast<double>(passes);
    return CyclesOfRuns(plan, m, whole * loads * (1 + 1 / sums) * waits,
                        by_rows ? 0 : CeilDiv(tiles, t[1]));
  };
  Tile best = {1, 1};
  for (const Tile& tile : RegisterTiles(plan)) {
    if (LocalBytes(plan, m, tile[0], tile[1]) > LowerLimits().max_local_bytes) continue;
    if (tile[1] <= tiles && cycles(tile) < cycles(best)) best = tile;
  }
  return best;
}

/// Keeps a stage of few vectors in registers, as far as they suffice, next to the stage that reads
/// it.
void KeepPrivate(Schedule& s, StageId stage, StageId consumer, LoopId loop) {
  s.SetScope(stage, Scope::kLocal);
  s.ComputeAt(stage, consumer, loop);
  s.Unroll(stage, s.SpatialAxis(stage, 2));
  s.Unroll(stage, s.SpatialAxis(stage, 3));
  s.Vectorize(stage, s.SpatialAxis(stage, 4));
}

/// Loop in which the data are transformed; without a loop, before everything else.
struct DataPlace {
  StageId consumer;
  LoopId loop;
};

/// A padded copy of all data would pass through memory twice. With masks, a load that may be
/// outside costs the same as others; without masks such loads are made once, for the window of a
/// tile.
void SchedulePadOfTile(Schedule& s, StageId transform, LoopId each, bool masks) {
  const StageId pad = s.Stage("pad");
  if (masks) {
    s.ComputeInline(pad);
    return;
  }
  s.SetScope(pad, Scope::kLocal);
  s.ComputeAt(pad, transform, each);
  s.Unroll(pad, s.SpatialAxis(pad, 3));
  s.Vectorize(pad, s.SpatialAxis(pad, 4));
}

void ScheduleData(Schedule& s, const DataPlace& place, bool masks, const Target& target) {
  const StageId transform = s.Stage("data_transform");
  const LoopId e = s.SpatialAxis(transform, 0), f = s.SpatialAxis(transform, 1),
               block = s.SpatialAxis(transform, 2), tile = s.SpatialAxis(transform, 3),
               lane = s.SpatialAxis(transform, 4);
  s.Reorder(transform, {block, tile, e, f, lane});
  s.Unroll(transform, e);
  s.Unroll(transform, f);
  s.Vectorize(transform, lane);
  LoopId each = tile;
  if (place.loop.index >= 0) {
    s.ComputeAt(transform, place.consumer, place.loop);
  } else {
    each = s.Fuse(transform, block, tile);
    ParallelFor(s, transform, each, target);
  }
  KeepPrivate(s, s.Stage("rows"), transform, each);
  if (s.HasStage("pad")) SchedulePadOfTile(s, transform, each, masks);
}

/// Loops over the result: groups of blocks of channels, runs of tiles.
struct Nest {
  std::vector<LoopId>
      image_rows;  ///< by rows: rows of all images, then runs of a row; else runs of all images
  LoopId group, block, each, i, j, lane;
};

Nest MakeNest(Schedule& s, StageId result, std::int64_t m, const Tile& tile, bool by_rows) {
  Nest nest;
  std::tie(nest.group, nest.block) =
      s.Split(result, s.SpatialAxis(result, 1), tile[0], Tail::kPeel);
  LoopId row, col, run;
  std::tie(row, nest.i) = s.Split(result, s.SpatialAxis(result, 2), m);
  std::tie(col, nest.j) = s.Split(result, s.SpatialAxis(result, 3), m);
  const LoopId image = s.SpatialAxis(result, 0);
  nest.lane = s.SpatialAxis(result, 4);
  s.Reorder(result, {image, row, col, nest.group, nest.block, nest.i, nest.j, nest.lane});
  const LoopId rows = s.Fuse(result, image, row);
  std::tie(run, nest.each) =
      s.Split(result, by_rows ? col : s.Fuse(result, rows, col), tile[1], Tail::kPeel);
  nest.image_rows = by_rows ? std::vector{rows, run} : std::vector{run};
  return nest;
}

void ScheduleProducts(Schedule& s, StageId result, LoopId run, std::int64_t parts,
                      std::int64_t unroll, bool whole) {
  const StageId products = s.Stage("products");
  const StageId sum = s.CacheWrite(products, Scope::kLocal);
  s.SetScope(products, Scope::kLocal);
  s.ComputeAt(products, result, run);
  s.Vectorize(products, s.SpatialAxis(products, 4));
  const LoopId position = s.SpatialAxis(products, 1);
  s.Unroll(products, s.SpatialAxis(products, 2));
  s.Unroll(products, s.SpatialAxis(products, 3));
  s.ComputeAt(sum, products, position);
  const LoopId blocks = s.SpatialAxis(sum, 2), tiles = s.SpatialAxis(sum, 3),
               lane = s.SpatialAxis(sum, 4);
  // Steps may be parts of a block; whole blocks outside keep the indices simple.
  const auto [block, part] = s.Split(sum, s.ReductionAxis(sum, 0), parts, Tail::kPeel);
  const auto [steps, unrolled] = s.Split(sum, s.ReductionAxis(sum, 1), unroll, Tail::kPeel);
  std::vector<LoopId> order = {block, part, steps, unrolled, tiles, blocks, lane};
  if (whole) order.push_back(s.ReductionAxis(sum, 2));
  s.Reorder(sum, order);
  s.Unroll(sum, unrolled);
  s.Unroll(sum, tiles);
  s.Unroll(sum, blocks);
  if (whole) {
    s.Tensorize(sum, lane, "dot2.s16");
  } else {
    s.Vectorize(sum, lane);
  }
}

std::string RefusesShape(const Workload& w) {
  if (w.op_name() != "conv2d") return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  constexpr std::array<std::int64_t, 2> kOne = {1, 1};
  if (w.strides != kOne || w.dilation != kOne) return "only without strides and dilation";
  return "";
}

std::string RefusesPlan(const WinogradPlan& plan) {
  if (plan.shape.c < plan.lanes || plan.shape.k < plan.lanes) {
    return "only of as many channels as a vector has elements, or more";
  }
  if (plan.ic_step < kMinStep) return "only of a multiple of 4 input channels";
  if (TileSizes(plan).empty()) return "only results of two rows and columns or more";
  return "";
}

Result<Config> DefaultOf(const WinogradPlan& plan) {
  TW_ASSIGN_OR_RETURN(auto space, SpaceOf(plan));
  const std::int64_t m = CheapestTile(plan);
  const bool by_rows = ByRows(plan, m);
  const Tile tile = DefaultTile(plan, m, by_rows);
  // Threads with their own runs read the same weights at the same time.
  const bool own_runs = !by_rows && plan.threads > 1 && WeightsExceedCache(plan, m) &&
                        CeilDiv(TilesOf(plan, m, by_rows), tile[1]) % plan.threads == 0;
  return LocateValues(space, {{"tile", KnobValue{m}},
                              {"register_tile", KnobValue{tile}},
                              {"ic_unroll", KnobValue{std::int64_t{2}}},
                              {"channels_first", KnobValue{!own_runs}},
                              {"data", KnobValue{std::string(by_rows ? "rows" : "all")}}});
}

/// Errors: kInvalidArgument with the part of the config that does not fit the workload.
Status CheckConfig(const WinogradPlan& plan, std::int64_t m, const Tile& tile, bool by_rows) {
  if (const std::int64_t bytes = LocalBytes(plan, m, tile[0], tile[1]);
      bytes > LowerLimits().max_local_bytes) {
    return InvalidArgument("products of " + std::to_string(bytes) + " bytes, expected at most " +
                           std::to_string(LowerLimits().max_local_bytes));
  }
  if (const std::int64_t tiles = TilesOf(plan, m, by_rows); tile[1] > tiles) {
    return InvalidArgument("runs of " + std::to_string(tile[1]) + " tiles, there are " +
                           std::to_string(tiles));
  }
  if (by_rows && RowBytes(plan, m) > kMaxRowBytes) {
    return InvalidArgument("transformed rows of " + std::to_string(RowBytes(plan, m)) +
                           " bytes, expected at most " + std::to_string(kMaxRowBytes));
  }
  return Status();
}

KernelLayouts FormOf(const WinogradPlan& plan, const Workload& w, std::int64_t m) {
  KernelLayouts layouts;
  layouts.data = layouts.output = Blocked("NCHW", plan.lanes, 'c');
  layouts.weight = Blocked(Blocked("OIHW", plan.lanes, 'i'), plan.lanes, 'o');
  layouts.winograd_tile = m;
  if (plan.whole) layouts.multiply_dtype = kInt16;
  if (w.data.dtype.is_half()) layouts.multiply_dtype = kFloat32;
  return layouts;
}

Result<Kernel> ApplyPlan(const WinogradPlan& plan, const Workload& w, const Epilogue& epilogue,
                         const Target& target, const Config& config) {
  const std::int64_t m = config.Integer("tile");
  const Tile& tile = config.Factors("register_tile");
  const bool by_rows = config.Word("data") == "rows";
  TW_RETURN_IF_ERROR(CheckConfig(plan, m, tile, by_rows));
  const KernelLayouts layouts = FormOf(plan, w, m);
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const StageId result = InlineIntoResult(s);
  const Nest nest = MakeNest(s, result, m, tile, by_rows);
  std::vector<LoopId> outer = nest.image_rows;
  const bool channels_first = config.Integer("channels_first") != 0;
  outer.insert(channels_first ? outer.begin() + (by_rows ? 1 : 0) : outer.end(), nest.group);
  std::vector<LoopId> order = outer;
  order.insert(order.end(), {nest.block, nest.each, nest.i, nest.j, nest.lane});
  s.Reorder(result, order);
  s.Unroll(result, nest.i);
  s.Unroll(result, nest.j);
  s.Vectorize(result, nest.lane);
  DataPlace place{result, {}};
  LoopId pass;
  if (by_rows) {
    place.loop = outer[0];
    ParallelFor(s, result, place.loop, target);
    pass = s.Fuse(result, outer[1], outer[2]);
  } else {
    pass = FuseAll(s, result, outer);
    ParallelFor(s, result, pass, target);
  }
  KeepPrivate(s, s.Stage("tile"), result, nest.each);
  KeepPrivate(s, s.Stage("columns"), result, nest.each);
  ScheduleProducts(s, result, pass, plan.lanes / plan.ic_step, config.Integer("ic_unroll"),
                   plan.whole);
  ScheduleData(s, place, plan.masks, target);
  return FinishKernel(std::move(s), layouts);
}

std::string RefusesFloat(const Workload& w, const Target& target) {
  if (std::string reason = RefusesShape(w); !reason.empty()) return reason;
  if (!IsFloat32(w) && !w.data.dtype.is_half()) return "only floats of 16 and 32 bits";
  auto plan = MakeWinogradPlan(w, target, false);
  if (!plan.ok()) return plan.status().message();
  if (plan->shape.r != plan->shape.s || (plan->shape.r != 3 && plan->shape.r != 5)) {
    return "only kernels of 3 x 3 and 5 x 5";
  }
  return RefusesPlan(*plan);
}

std::string RefusesInt8(const Workload& w, const Target& target) {
  if (std::string reason = RefusesShape(w); !reason.empty()) return reason;
  auto plan = MakeWinogradPlan(w, target, true);
  if (!plan.ok()) return plan.status().message();
  if (std::string reason = IntegerWinogradRefusal(w, plan->shape); !reason.empty()) return reason;
  return RefusesPlan(*plan);
}

template <bool kInt8>
Result<WinogradPlan> PlanOf(const Workload& w, const Target& target) {
  return MakeWinogradPlan(w, target, kInt8);
}

template <bool kInt8>
TemplateEntry EntryFor(std::string_view key, int version,
                       decltype(TemplateEntry::refuses) refuses) {
  constexpr auto kPlan = &PlanOf<kInt8>;
  TemplateEntry entry =
      LoopTemplate(key, version, "llvm", kKnobs, refuses, &SpaceByPlan<kPlan, &SpaceOf>,
                   &DefaultByPlan<kPlan, &DefaultOf>, &ApplyByPlan<kPlan, &ApplyPlan>);
  // If the default config is faster than that of a direct convolution.
  entry.is_preferred = +[](const Workload& w, const Target& target) {
    const auto plan = PlanOf<kInt8>(w, target);
    return plan.ok() && IsClearlyCheaper(*plan);
  };
  entry.only_reorders_sums = kInt8;
  return entry;
}

}  // namespace
}  // namespace conv2d_winograd_cpu

TemplateEntry Conv2dWinogradCpuEntry() {
  using namespace conv2d_winograd_cpu;
  return EntryFor<false>("conv2d_winograd.cpu", 4, &RefusesFloat);
}

TemplateEntry Conv2dWinogradInt8CpuEntry() {
  using namespace conv2d_winograd_cpu;
  return EntryFor<true>("conv2d_winograd_int8.cpu", 2, &RefusesInt8);
}

}  // namespace tilewright
