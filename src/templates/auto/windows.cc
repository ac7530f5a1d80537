// `auto.cpu/windows`: some rows of a picture at a time, joined (joined_rows.h), summed in registers
// over windows that are written out, then what follows is done and the rows are written. The padded
// picture is made as a whole, or of one band of rows at a time, in a near cache.

#include <algorithm>
#include <bit>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/auto/contraction.h"
#include "src/templates/auto/joined_rows.h"
#include "src/templates/auto/rules.h"
#include "src/templates/auto/tile_stages.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMostWrittenOut = 512;  // vectors of sums times taps: code and build time

struct WindowsPlan {
  Windows windows;
  CpuFeatures features;
  std::int64_t lanes() const { return features.float_lanes(); }
};

Result<WindowsPlan> PlanWindows(const Workload& w, const Target& target) {
  auto features = FeaturesOf(target);
  TW_RETURN_IF_ERROR(features);
  auto windows = FindWindows(w.expression);
  TW_RETURN_IF_ERROR(windows);
  return WindowsPlan{*std::move(windows), *std::move(features)};
}

using RowTile = std::vector<std::int64_t>;  // rows, columns

/// Vectors of sums: a rest takes one of half the size, of a quarter, ...
std::int64_t VectorsOf(const WindowsPlan& plan, std::int64_t rows, std::int64_t columns) {
  const std::int64_t elements = (rows - 1) * plan.windows.row + columns;
  return elements / plan.lanes() +
         std::popcount(static_cast<std::uint64_t>(elements % plan.lanes()));
}

/// Rows as wide as the result, as many as fit; parts of one where a whole one does not.
std::vector<RowTile> RowTiles(const WindowsPlan& plan) {
  const Windows& w = plan.windows;
  const std::int64_t budget = plan.features.vector_registers() - 3;
  std::vector<RowTile> tiles;
  for (std::int64_t rows : ThriftyTiles(w.height, 16)) {
    if (VectorsOf(plan, rows, w.width) <= budget) tiles.push_back({rows, w.width});
  }
  for (std::int64_t vectors : ThriftyTiles(CeilDiv(w.width, plan.lanes()), 8)) {
    const std::int64_t columns = vectors * plan.lanes();
    if (columns < w.width && vectors <= budget) tiles.push_back({1, columns});
  }
  if (tiles.empty()) tiles.push_back({1, std::min(plan.lanes(), w.width)});
  return tiles;
}

std::int64_t CountTaps(const WindowsPlan& plan) {
  std::int64_t taps = 1;
  for (int number : plan.windows.windows) {
    taps *= plan.windows.op().reduce_axes[static_cast<std::size_t>(number)].extent;
  }
  return taps;
}

/// The tile that takes the fewest vectors in all, of equal ones the one with most rows: those that
/// are read for one of them serve the next. With more sums than these there are no registers left
/// for what is read.
constexpr std::int64_t kMostSumsAtFirst = 9;
RowTile DefaultRowTile(const WindowsPlan& plan) {
  const Windows& w = plan.windows;
  RowTile best;
  std::int64_t best_cost = 0;
  for (const RowTile& tile : RowTiles(plan)) {
    const std::int64_t vectors = VectorsOf(plan, tile[0], tile[1]);
    if (vectors * CountTaps(plan) > kMostWrittenOut) continue;
    if (vectors > kMostSumsAtFirst && !best.empty()) continue;
    const std::int64_t cost = CeilDiv(w.height, tile[0]) * CeilDiv(w.width, tile[1]) * vectors;
    if (!best.empty() && cost > best_cost) continue;
    best = tile;
    best_cost = cost;
  }
  return best.empty() ? RowTiles(plan).front() : best;
}

Result<ConfigSpace> WindowsSpace(const WindowsPlan& plan) {
  std::vector<KnobValue> tiles;
  for (RowTile& tile : RowTiles(plan)) tiles.emplace_back().value = std::move(tile);
  std::vector<std::int64_t> bands;
  for (std::int64_t rows = plan.windows.height; rows > 1; rows = CeilDiv(rows, 2)) {
    bands.push_back(rows);
  }
  return MakeSpace({Knob::Candidates("tile", KnobKind::kOther, std::move(tiles)),
                    Knob::Other("band", std::move(bands)), Knob::Bool("near", {true, false}),
                    Knob::Bool("write_out", {true, false}),
                    Knob::Bool("turn_windows", {false, true})});
}

struct WindowLoops {
  LoopId band;  // of rows
  LoopId tile;
};

WindowLoops ScheduleWriter(Schedule& s, StageId writer, const RowTile& tile, std::int64_t band,
                           std::int64_t lanes, const Target& target) {
  const int axes = static_cast<int>(s.stage(writer).op.axes.size());
  std::vector<LoopId> outer;
  for (int i = 0; i + 2 < axes; ++i) outer.push_back(s.SpatialAxis(writer, i));
  const auto [tiles, rows] = s.Split(writer, s.SpatialAxis(writer, axes - 2), tile[0], Tail::kPeel);
  const auto [far, near] = s.Split(writer, tiles, CeilDiv(band, tile[0]), Tail::kPeel);
  const auto [parts, columns] =
      s.Split(writer, s.SpatialAxis(writer, axes - 1), tile[1], Tail::kPeel);
  const auto [vectors, lane] = s.Split(writer, columns, lanes, Tail::kPeel);
  outer.push_back(far);
  std::vector<LoopId> order = outer;
  order.insert(order.end(), {near, parts, rows, vectors, lane});
  s.Reorder(writer, order);
  s.Unroll(writer, rows);
  s.Unroll(writer, vectors);
  s.Vectorize(writer, lane);
  if (target.num_threads() <= 1) return {far, parts};
  const LoopId fused = FuseAll(s, writer, outer);
  s.Parallel(writer, fused);
  return {fused, parts};
}

void ScheduleSums(Schedule& s, StageId main, const Windows& w, std::int64_t lanes, bool write_out,
                  bool turn_windows) {
  const int axes = static_cast<int>(s.stage(main).op.axes.size());
  std::vector<LoopId> order, taps;
  for (int i = 0; i + 1 < axes; ++i) order.push_back(s.SpatialAxis(main, i));
  const int reductions = static_cast<int>(s.stage(main).op.reduce_axes.size());
  for (int i = 0; i < reductions; ++i) {
    const bool window = std::ranges::find(w.windows, i) != w.windows.end();
    (window ? taps : order).push_back(s.ReductionAxis(main, i));
  }
  if (turn_windows) std::ranges::reverse(taps);
  const auto [vectors, lane] = s.Split(main, s.SpatialAxis(main, axes - 1), lanes, Tail::kPeel);
  order.insert(order.end(), taps.begin(), taps.end());
  order.push_back(vectors);
  order.push_back(lane);
  s.Reorder(main, order);
  for (std::size_t i = 0; i < taps.size(); ++i) {
    if (write_out || i + 1 == taps.size()) s.Unroll(main, taps[i]);
  }
  s.Unroll(main, vectors);
  s.Vectorize(main, lane);
}

/// What makes a picture, row by row.
void SchedulePicture(Schedule& s, StageId picture, std::int64_t row, std::int64_t lanes,
                     bool parallel) {
  const int axes = static_cast<int>(s.stage(picture).op.axes.size());
  const auto [rows, columns] = s.Split(picture, s.SpatialAxis(picture, axes - 1), row, Tail::kPeel);
  const auto [vectors, lane] = s.Split(picture, columns, lanes, Tail::kPeel);
  s.Vectorize(picture, lane);
  if (parallel) s.Parallel(picture, s.Leaves(picture).front());
}

}  // namespace

std::string AutoWindows::Refuses(const Workload& w, const Target& target) {
  if (std::string why = RefusesAnyExpression(w, target); !why.empty()) return why;
  const auto plan = PlanWindows(w, target);
  return plan.ok() ? "" : plan.status().message();
}

Result<ConfigSpace> AutoWindows::DefineSpace(const Workload& w, const Target& target) {
  auto plan = PlanWindows(w, target);
  TW_RETURN_IF_ERROR(plan);
  return WindowsSpace(*plan);
}

Result<Config> AutoWindows::DefaultConfig(const Workload& w, const Target& target) {
  auto plan = PlanWindows(w, target);
  TW_RETURN_IF_ERROR(plan);
  auto space = WindowsSpace(*plan);
  TW_RETURN_IF_ERROR(space);
  const RowTile tile = DefaultRowTile(*plan);
  const bool few = VectorsOf(*plan, tile[0], tile[1]) * CountTaps(*plan) <= kMostWrittenOut;
  // A picture is to stay in the nearest cache.
  constexpr std::int64_t kNearElements = 6 << 10;
  const std::int64_t rows = std::max<std::int64_t>(1, kNearElements / plan->windows.row);
  std::int64_t band = 0;
  const Knob& bands = space->knobs()[1];
  for (std::int64_t i = 0; i < bands.size(); ++i) {
    if (band == 0 || band > rows) band = bands[i].integer();
  }
  return LocateValues(*space, {{"tile", KnobValue{tile}},
                               {"band", KnobValue{band}},
                               {"near", KnobValue{true}},
                               {"write_out", KnobValue{few}},
                               {"turn_windows", KnobValue{true}}});
}

Result<Kernel> AutoWindows::Apply(const Workload& w, const Epilogue&, const Target& target,
                                  const Config& config) {
  auto plan = PlanWindows(w, target);
  TW_RETURN_IF_ERROR(plan);
  const Windows& windows = plan->windows;
  const std::int64_t lanes = plan->lanes();
  const RowTile& tile = config.Factors("tile");
  const bool write_out = config.Integer("write_out") != 0;
  const std::int64_t sums = VectorsOf(*plan, tile[0], tile[1]);
  if (write_out && sums * CountTaps(*plan) > kMostWrittenOut) {
    return InvalidArgument("code of " + std::to_string(sums * CountTaps(*plan)) +
                           " vectors of products, expected at most " +
                           std::to_string(kMostWrittenOut));
  }
  Schedule s(windows.compute);
  const StageId main = s.Stage(windows.op().name);
  const StageId copy = s.Stage(windows.compute.stages[windows.main + 1].name);
  std::vector<StageId> pictures;
  for (int number : windows.pictures) {
    pictures.push_back(s.Stage(windows.compute.stages[static_cast<std::size_t>(number)].name));
  }
  std::vector<StageId> kept = pictures;
  kept.push_back(copy);
  InlineElementwise(s, kept);
  s.SetScope(main, Scope::kLocal);
  StageId writer = OnlyFollower(s, s.stage(copy).op.output);
  if (writer.index < 0) {
    writer = copy;
  } else {
    s.ComputeInline(copy);
  }
  const WindowLoops loops = ScheduleWriter(s, writer, tile, config.Integer("band"), lanes, target);
  s.ComputeAt(main, writer, loops.tile);
  ScheduleSums(s, main, windows, lanes, write_out, config.Integer("turn_windows") != 0);
  const bool near = config.Integer("near") != 0;
  for (const StageId picture : pictures) {
    if (near) {
      s.ComputeAt(picture, writer, loops.band);
      s.SetScope(picture, Scope::kLocal);
    }
    SchedulePicture(s, picture, windows.row, lanes, !near && target.num_threads() > 1);
  }
  const std::vector<StageId> order = s.order();
  for (const StageId id : order) {
    const bool own = id == main || id == writer || std::ranges::count(pictures, id) > 0;
    if (own || s.stage(id).attach != Schedule::Attach::kRoot) continue;
    ScheduleFlat(s, id, lanes, target, 1, AcrossAxis(s.stage(id).op, lanes));
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), AnchorForm(), {"windows"}};
}

bool AutoWindows::GoesFirst(const Workload& w, const Target& target) {
  const auto plan = PlanWindows(w, target);
  return plan.ok() && plan->windows.width < 2 * plan->lanes() && FindContraction(w.expression).ok();
}

}  // namespace tilewright
