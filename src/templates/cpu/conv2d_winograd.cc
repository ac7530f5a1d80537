// Winograd's convolution for CPUs: tiles of the data transformed, the products of a run of tiles
// and a group of output channels summed in registers, tile by tile transformed back with the
// epilogue.

#include "src/templates/cpu/conv2d_winograd.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "src/base/math.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/templates/workload_kind.h"
#include "src/tensor/compute/winograd.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMostBlocks = 4;    // of output channels, in one group
constexpr std::int64_t kMostUnrolled = 4;  // input channels
constexpr std::int64_t kMostIdle = 4;      // of so many turns of threads one may be without a row
constexpr std::int64_t kLargestWindow = 8;
constexpr std::int64_t kLeastStep = 4;  // shorter loops over channels cost more than they do

/// What follows from workload and target alone.
struct Plan {
  ConvShape shape;
  std::int64_t lanes = 0, registers = 0;
  std::int64_t oc_blocks = 0;
  std::int64_t ic_step = 0;  // input channels that are summed without a look at the block's end
  int threads = 1;
  bool masks = false;  // of vectors
};

Result<Plan> MakePlan(const Workload& w, const Target& target) {
  auto shape = ConvShapeOf(w);
  TW_RETURN_IF_ERROR(shape);
  auto features = FeaturesOf(target);
  TW_RETURN_IF_ERROR(features);
  const std::int64_t lanes = features->float_lanes();
  return Plan{*shape,
              lanes,
              features->vector_registers(),
              CeilDiv(shape->k, lanes),
              std::gcd(shape->c, lanes),
              target.num_threads(),
              features->avx512};
}

/// Rows and columns of a tile; the last ones of a result may be cut.
std::vector<std::int64_t> TileSizes(const Plan& plan) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t m : {6, 4, 2}) {
    if (m <= plan.shape.oh && m <= plan.shape.ow && m + plan.shape.r - 1 <= kLargestWindow) {
      sizes.push_back(m);
    }
  }
  return sizes;
}

/// Tiles that runs are made of: of a row, or of all images.
std::int64_t TilesOf(const Plan& plan, std::int64_t m, bool by_rows) {
  const WinogradTiles tiles = WinogradTilesOf(plan.shape, m);
  return by_rows ? tiles.cols : tiles.count;
}

/// Rows and columns of the data that a tile needs.
std::int64_t WindowOf(const Plan& plan, std::int64_t m) { return m + plan.shape.r - 1; }

/// Products of one run of tiles, which stay in local memory.
std::int64_t LocalBytes(const Plan& plan, std::int64_t m, std::int64_t blocks, std::int64_t run) {
  const std::int64_t window = WindowOf(plan, m);
  const std::int64_t vectors = (window * window + 1) * blocks * run + 2 * m * window + m * m;
  return vectors * plan.lanes * 4;
}

/// Transformed data of all channels, of one row of tiles.
std::int64_t RowBytes(const Plan& plan, std::int64_t m) {
  const std::int64_t window = WindowOf(plan, m);
  return window * window * RoundUp(plan.shape.c, plan.lanes) * TilesOf(plan, m, true) * 4;
}
/// Transformed weights.
std::int64_t WeightBytes(const Plan& plan, std::int64_t m) {
  const std::int64_t window = WindowOf(plan, m);
  return window * window * plan.shape.c * plan.oc_blocks * plan.lanes * 4;
}
constexpr std::int64_t kCachedBytes = std::int64_t{12} << 20;  // a share of the last-level cache
constexpr std::int64_t kNearBytes = std::int64_t{1} << 20;
constexpr std::int64_t kMostRowBytes = std::int64_t{1} << 20;  // a near cache, with room for more

/// Of `threads`, each with so many cycles of sums and transforms, which read `weight_bytes` from
/// the last-level cache or from memory meanwhile: all of them each, or each its `part`.
double CyclesWith(double cycles, std::int64_t weight_bytes, int threads, bool part = false) {
  constexpr double kLastLevelRate = 28, kMemoryRate = 7;  // bytes per cycle
  const double rate = weight_bytes <= kCachedBytes ? kLastLevelRate : kMemoryRate;
  double reading = weight_bytes <= kNearBytes ? 0 : static_cast<double>(weight_bytes) / rate;
  if (part) reading /= threads;
  cycles /= threads;
  // What is read ahead does not hide all of it.
  constexpr double kNotHidden = 0.25;
  return std::max(cycles, reading) + kNotHidden * std::min(cycles, reading);
}

/// Whether the default config transforms data by rows. Weights are read again for each row then,
/// and rows are what threads share. Of few rows, weights that no near cache keeps are read once
/// instead, for runs of tiles of all rows.
bool ByRows(const Plan& plan, std::int64_t m) {
  const std::int64_t rows = plan.shape.n * CeilDiv(plan.shape.oh, m);
  const std::int64_t turns = RoundUp(rows, plan.threads);
  const bool even = turns - rows <= turns / kMostIdle;
  const std::int64_t few = plan.threads == 1 ? 4 : 3;
  return RowBytes(plan, m) <= kMostRowBytes &&
         WeightBytes(plan, m) <= (rows > few ? kCachedBytes : kNearBytes) && even;
}

/// About how many cycles tiles of m x m take, at one FMA each. Within 15 % of what was measured for
/// 16 to 512 channels and pictures of 5 x 5 to 112 x 112.
double Cycles(const Plan& plan, std::int64_t m) {
  const WinogradTiles tiles = WinogradTilesOf(plan.shape, m);
  const std::int64_t window = tiles.window, in_blocks = CeilDiv(plan.shape.c, plan.lanes);
  const std::int64_t sums = window * window * plan.shape.c * plan.oc_blocks;
  // Half of the matrices' elements are zero.
  const std::int64_t data = in_blocks * window * window * window;
  const std::int64_t results = plan.oc_blocks * m * (window + m) * window / 2;
  return CyclesWith(static_cast<double>(tiles.count * (sums + data + results)),
                    WeightBytes(plan, m), plan.threads, !ByRows(plan, m));
}

/// The same for the direct convolution, which leaves out products by padding.
double DirectCycles(const Plan& plan) {
  const ConvShape& s = plan.shape;
  const auto taps = [](std::int64_t out, std::int64_t in, std::int64_t kernel, std::int64_t pad) {
    std::int64_t count = 0;
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t first = std::max<std::int64_t>(o - pad, 0);
      count += std::max<std::int64_t>(std::min(o - pad + kernel, in) - first, 0);
    }
    return count;
  };
  const std::int64_t sums = s.n * taps(s.oh, s.h, s.r, s.pad_top) *
                            taps(s.ow, s.w, s.s, s.pad_left) * s.c * plan.oc_blocks;
  return CyclesWith(static_cast<double>(sums), s.r * s.s * s.c * plan.oc_blocks * plan.lanes * 4,
                    plan.threads);
}

/// Of those whose error is near the direct convolution's.
std::int64_t CheapestTile(const Plan& plan) {
  constexpr std::int64_t kExactWindow = 6;
  std::int64_t best = TileSizes(plan).back();
  for (std::int64_t m : TileSizes(plan)) {
    const bool exact = m + plan.shape.r - 1 <= kExactWindow;
    if (exact && Cycles(plan, m) < Cycles(plan, best)) best = m;
  }
  return best;
}

using Tile = std::vector<std::int64_t>;  // blocks of output channels, tiles of a run

/// Those whose sums fit into registers and whose products fit into local memory for some tile size.
std::vector<Tile> RegisterTiles(const Plan& plan) {
  const std::int64_t least = TileSizes(plan).back();
  std::vector<Tile> tiles;
  for (std::int64_t blocks = 1; blocks <= std::min(kMostBlocks, plan.oc_blocks); ++blocks) {
    const std::int64_t most = (plan.registers - blocks - 1) / blocks;
    std::set<std::int64_t> runs;
    for (const bool by_rows : {true, false}) {
      const auto sizes = ThriftyTiles(TilesOf(plan, least, by_rows), most);
      runs.insert(sizes.begin(), sizes.end());
    }
    for (std::int64_t run : runs) {
      if (LocalBytes(plan, least, blocks, run) <= LowerLimits().max_local_bytes) {
        tiles.push_back({blocks, run});
      }
    }
  }
  return tiles;
}

Result<ConfigSpace> SpaceOf(const Plan& plan) {
  std::vector<KnobValue> tiles;
  for (Tile& tile : RegisterTiles(plan)) tiles.emplace_back().value = std::move(tile);
  std::vector<std::int64_t> unrolls;
  for (std::int64_t u = 1; u <= std::min(kMostUnrolled, plan.ic_step); u *= 2) unrolls.push_back(u);
  std::vector<KnobValue> data;  // transformed before everything else, or by rows of tiles
  data.emplace_back().value = std::string("all");
  if (RowBytes(plan, TileSizes(plan).back()) <= kMostRowBytes) {
    data.emplace_back().value = std::string("rows");
  }
  return MakeSpace({Knob::Other("tile", TileSizes(plan)),
                    Knob::Candidates("register_tile", KnobKind::kOther, std::move(tiles)),
                    Knob::Other("ic_unroll", std::move(unrolls)),
                    Knob::Bool("channels_first", {true, false}),
                    Knob::Candidates("data", KnobKind::kOther, std::move(data))});
}

/// The most sums that registers and local memory hold; of equal ones those with fewer loads.
Tile DefaultTile(const Plan& plan, std::int64_t m, bool by_rows) {
  Tile best = {1, 1};
  const std::int64_t tiles = TilesOf(plan, m, by_rows);
  const auto even = [&](const Tile& t) {  // of the work in whole tiles
    return static_cast<double>(plan.oc_blocks * tiles) /
           static_cast<double>(RoundUp(plan.oc_blocks, t[0]) * RoundUp(tiles, t[1]));
  };
  const auto worth = [&](const Tile& t) {
    const auto sums = static_cast<double>(t[0] * t[1]);
    return even(t) * sums / std::max(sums, 0.65 * static_cast<double>(t[0] + t[1]) * 2) *
           (1 - 1 / (1 + sums));
  };
  for (const Tile& tile : RegisterTiles(plan)) {
    if (LocalBytes(plan, m, tile[0], tile[1]) > LowerLimits().max_local_bytes) continue;
    if (tile[1] <= tiles && worth(tile) > worth(best)) best = tile;
  }
  return best;
}

/// A stage of few vectors beside the one that reads it, in registers as far as they go.
void KeepPrivate(Schedule& s, StageId stage, StageId consumer, LoopId loop) {
  s.SetScope(stage, Scope::kLocal);
  s.ComputeAt(stage, consumer, loop);
  s.Unroll(stage, s.SpatialAxis(stage, 2));
  s.Unroll(stage, s.SpatialAxis(stage, 3));
  s.Vectorize(stage, s.SpatialAxis(stage, 4));
}

/// Where the data are transformed; without a loop, before everything else.
struct DataPlace {
  StageId consumer;
  LoopId loop;
};

/// A padded copy of all data would go through memory twice. With masks a load that may be outside
/// is as good as any other; without them such loads are made once each, for the window of a tile.
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
  std::vector<LoopId> image_rows;  ///< by rows: rows of all images, runs of a row; else runs of all
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
                      std::int64_t unroll) {
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
  s.Reorder(sum, {block, part, steps, unrolled, tiles, blocks, lane});
  s.Unroll(sum, unrolled);
  s.Unroll(sum, tiles);
  s.Unroll(sum, blocks);
  s.Vectorize(sum, lane);
}

}  // namespace

std::string Conv2dWinogradCpu::Refuses(const Workload& w, const Target& target) {
  if (w.op_name() != "conv2d") return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (!IsFloat32(w)) return "only float32";
  constexpr std::array<std::int64_t, 2> kOne = {1, 1};
  if (w.strides != kOne || w.dilation != kOne) return "only without strides and dilation";
  auto plan = MakePlan(w, target);
  if (!plan.ok()) return plan.status().message();
  if (plan->shape.r != plan->shape.s || (plan->shape.r != 3 && plan->shape.r != 5)) {
    return "only kernels of 3 x 3 and 5 x 5";
  }
  if (plan->shape.c < plan->lanes || plan->shape.k < plan->lanes) {
    return "only of as many channels as a vector has elements, or more";
  }
  if (plan->ic_step < kLeastStep) return "only of a multiple of 4 input channels";
  if (TileSizes(*plan).empty()) return "only results of two rows and columns or more";
  return "";
}

Result<ConfigSpace> Conv2dWinogradCpu::DefineSpace(const Workload& w, const Target& target) {
  auto plan = MakePlan(w, target);
  TW_RETURN_IF_ERROR(plan);
  return SpaceOf(*plan);
}

Result<Config> Conv2dWinogradCpu::DefaultConfig(const Workload& w, const Target& target) {
  auto plan = MakePlan(w, target);
  TW_RETURN_IF_ERROR(plan);
  auto space = SpaceOf(*plan);
  TW_RETURN_IF_ERROR(space);
  const std::int64_t m = CheapestTile(*plan);
  const bool by_rows = ByRows(*plan, m);
  return LocateValues(*space, {{"tile", KnobValue{m}},
                               {"register_tile", KnobValue{DefaultTile(*plan, m, by_rows)}},
                               {"ic_unroll", KnobValue{std::int64_t{2}}},
                               {"channels_first", KnobValue{true}},
                               {"data", KnobValue{std::string(by_rows ? "rows" : "all")}}});
}

Result<Kernel> Conv2dWinogradCpu::Apply(const Workload& w, const Epilogue& epilogue,
                                        const Target& target, const Config& config) {
  auto plan = MakePlan(w, target);
  TW_RETURN_IF_ERROR(plan);
  const std::int64_t m = config.Integer("tile");
  const Tile& tile = config.Factors("register_tile");
  if (const std::int64_t bytes = LocalBytes(*plan, m, tile[0], tile[1]);
      bytes > LowerLimits().max_local_bytes) {
    return InvalidArgument("products of " + std::to_string(bytes) + " bytes, expected at most " +
                           std::to_string(LowerLimits().max_local_bytes));
  }
  const bool by_rows = std::get<std::string>(config.Find("data")->value) == "rows";
  if (const std::int64_t tiles = TilesOf(*plan, m, by_rows); tile[1] > tiles) {
    return InvalidArgument("runs of " + std::to_string(tile[1]) + " tiles, there are " +
                           std::to_string(tiles));
  }
  if (by_rows && RowBytes(*plan, m) > kMostRowBytes) {
    return InvalidArgument("transformed rows of " + std::to_string(RowBytes(*plan, m)) +
                           " bytes, expected at most " + std::to_string(kMostRowBytes));
  }
  AnchorForm form;
  form.data = form.output = Blocked("NCHW", plan->lanes, 'c');
  form.weight = Blocked(Blocked("OIHW", plan->lanes, 'i'), plan->lanes, 'o');
  form.winograd_tile = m;
  auto compute = DefineAnchor(w, epilogue, form);
  TW_RETURN_IF_ERROR(compute);
  Schedule s(*std::move(compute));
  const StageId result = s.HasStage("output") ? s.Stage("output") : s.Stage("reduce");
  if (s.HasStage("output")) s.ComputeInline(s.Stage("reduce"));
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
  ScheduleProducts(s, result, pass, plan->lanes / plan->ic_step, config.Integer("ic_unroll"));
  ScheduleData(s, place, plan->masks, target);
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), form};
}

bool Conv2dWinogradCpu::GoesFirst(const Workload& w, const Target& target) {
  auto plan = MakePlan(w, target);
  constexpr double kClearlyLess = 0.95;
  return plan.ok() && Cycles(*plan, CheapestTile(*plan)) < kClearlyLess * DirectCycles(*plan);
}

}  // namespace tilewright
