// `auto.cpu/windows`: some rows of an image at a time, joined (joined_rows.h) or one below the
// other, are summed in registers over unrolled windows; then the stages after them are applied and
// the rows are written. Data of one row serve the next if both rows are in registers: always for
// rows one below the other, for joined ones if they are whole vectors. The padded image is computed
// as a whole, or one band of rows at a time, in a private cache.

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <tuple>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/auto/contraction.h"
#include "src/templates/auto/joined_rows.h"
#include "src/templates/auto/rules.h"
#include "src/templates/auto/templates.h"
#include "src/templates/auto/tile_stages.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace windows_auto {
namespace {

struct WindowsPlan {
  Windows windows;  // joined
  CpuFeatures features;
  std::int64_t lanes() const { return features.float_lanes(); }
};

Result<WindowsPlan> PlanWindows(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  TW_ASSIGN_OR_RETURN(auto windows, FindWindows(w.expression));
  return WindowsPlan{std::move(windows), std::move(features)};
}

// Places where an image is computed.
constexpr const char* kPictureNear = "near";      // a band of rows at a time, in a local buffer
constexpr const char* kPictureBefore = "before";  // as a whole
constexpr const char* kPictureInline = "inline";  // where it is read, by loads with masks

/// Rows and columns of the result in registers.
struct RowTile {
  std::int64_t rows = 0, columns = 0;
  bool joined = true;

  KnobValue Value() const {
    return KnobValue{std::vector<std::int64_t>{rows, columns, joined ? 1 : 0}};
  }
};

RowTile TileOf(const Config& config) {
  const std::vector<std::int64_t>& values = config.Factors("tile");
  return {values[0], values[1], values[2] != 0};
}

/// Returns the vectors of sums: a rest takes one of half the size, of a quarter, …
std::int64_t VectorsOf(const WindowsPlan& plan, const RowTile& tile) {
  const auto vectors = [&](std::int64_t elements) {
    return elements / plan.lanes() +
           std::popcount(static_cast<std::uint64_t>(elements % plan.lanes()));
  };
  if (!tile.joined) return tile.rows * vectors(tile.columns);
  return vectors((tile.rows - 1) * plan.windows.row + tile.columns);
}

/// Returns tiles of rows as wide as the result, as many as fit; parts of one row if a whole one
/// does not fit; and columns of some rows.
std::vector<RowTile> RowTiles(const WindowsPlan& plan) {
  const Windows& w = plan.windows;
  const std::int64_t budget = plan.features.vector_registers() - 3;
  const std::vector<std::int64_t> heights = MinWasteTiles(w.height, 16);
  std::vector<RowTile> tiles;
  const auto add = [&](const RowTile& tile) {
    if (VectorsOf(plan, tile) <= budget) tiles.push_back(tile);
  };
  for (std::int64_t rows : heights) add({rows, w.width, true});
  const std::vector<std::int64_t> widths = MinWasteTiles(CeilDiv(w.width, plan.lanes()), 8);
  for (std::int64_t vectors : widths) {
    const std::int64_t columns = vectors * plan.lanes();
    if (columns < w.width) add({1, columns, true});
  }
  for (std::int64_t rows : heights) {
    if (rows == 1) continue;  // joined or not is the same
    for (std::int64_t vectors : widths) {
      add({rows, std::min(vectors * plan.lanes(), w.width), false});
    }
  }
  if (tiles.empty()) tiles.push_back({1, std::min(plan.lanes(), w.width), true});
  return tiles;
}

std::int64_t CountTaps(const WindowsPlan& plan) {
  std::int64_t taps = 1;
  for (int number : plan.windows.windows) {
    taps *= plan.windows.op().reduce_axes[static_cast<std::size_t>(number)].extent;
  }
  return taps;
}

/// Cycles of an image with this tile: of the multiply-adds of its vectors, or of their loads, each
/// of which crosses a cache line.
double CyclesOfTile(const WindowsPlan& plan, const RowTile& tile) {
  constexpr double kCyclesPerLoad = 2;
  const Windows& w = plan.windows;
  const auto taps = static_cast<double>(CountTaps(plan));
  const bool shares = !tile.joined || w.row % plan.lanes() == 0;
  const auto rows = static_cast<double>(tile.rows);
  const double read_rows = shares ? (rows + std::sqrt(taps) - 1) / rows * std::sqrt(taps) : taps;
  const auto cycles = [&](std::int64_t columns) {
    const auto vectors = static_cast<double>(VectorsOf(plan, {tile.rows, columns, tile.joined}));
    return vectors * std::max(taps, kCyclesPerLoad * read_rows);
  };
  double row_of_tiles = static_cast<double>(w.width / tile.columns) * cycles(tile.columns);
  if (w.width % tile.columns != 0) row_of_tiles += cycles(w.width % tile.columns);
  return static_cast<double>(CeilDiv(w.height, tile.rows)) * row_of_tiles;
}

/// Returns the tile with the fewest cycles that leaves registers for the data.
constexpr std::int64_t kMaxSumsAtFirst = 16;
RowTile DefaultRowTile(const WindowsPlan& plan) {
  std::optional<RowTile> best;
  double best_cycles = 0;
  for (const RowTile& tile : RowTiles(plan)) {
    const std::int64_t vectors = VectorsOf(plan, tile);
    if (vectors * CountTaps(plan) > kMaxWrittenOut || vectors > kMaxSumsAtFirst) continue;
    const double cycles = CyclesOfTile(plan, tile);
    if (best && cycles > best_cycles) continue;
    best = tile;
    best_cycles = cycles;
  }
  return best ? *best : RowTiles(plan).front();
}

constexpr KnobDoc kKnobs[] = {
    {"tile",
     "Rows and columns of the result in registers; 1 if the rows are joined to one long row, 0"
     " if not."},
    {"band",
     "Rows of the result for which the padded image is made at a time, with `picture` = "
     "`near`."},
    {"picture",
     "Where the padded image is made. `near`: in a local buffer, one band at a time; `before`:"
     " as a whole; `inline`: where it is read, by masked loads (rows not joined, padding "
     "only)."},
    {"write_out", "true unrolls all taps of a window, false only those of its innermost loop."},
    {"turn_windows", "true makes the outermost axis of the windows the innermost loop."},
};

Result<ConfigSpace> WindowsSpace(const WindowsPlan& plan) {
  std::vector<KnobValue> tiles;
  for (const RowTile& tile : RowTiles(plan)) tiles.push_back(tile.Value());
  std::vector<std::int64_t> bands;
  for (std::int64_t rows = plan.windows.height; rows > 1; rows = CeilDiv(rows, 2)) {
    bands.push_back(rows);
  }
  return MakeSpace({Knob::Candidates("tile", KnobKind::kOther, std::move(tiles)),
                    Knob::Other("band", std::move(bands)),
                    Knob::Words("picture", {kPictureNear, kPictureBefore, kPictureInline}),
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
  const auto [tiles, rows] =
      s.Split(writer, s.SpatialAxis(writer, axes - 2), tile.rows, Tail::kPeel);
  const auto [far, near] = s.Split(writer, tiles, CeilDiv(band, tile.rows), Tail::kPeel);
  const auto [parts, columns] =
      s.Split(writer, s.SpatialAxis(writer, axes - 1), tile.columns, Tail::kPeel);
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
  for (int i = 0; i + (w.joined ? 1 : 2) < axes; ++i) order.push_back(s.SpatialAxis(main, i));
  const int reductions = static_cast<int>(s.stage(main).op.reduce_axes.size());
  for (int i = 0; i < reductions; ++i) {
    const bool window = std::ranges::find(w.windows, i) != w.windows.end();
    (window ? taps : order).push_back(s.ReductionAxis(main, i));
  }
  if (turn_windows) std::ranges::reverse(taps);
  const auto [vectors, lane] = s.Split(main, s.SpatialAxis(main, axes - 1), lanes, Tail::kPeel);
  order.insert(order.end(), taps.begin(), taps.end());
  if (!w.joined) {
    order.push_back(s.SpatialAxis(main, axes - 2));
    s.Unroll(main, order.back());
  }
  order.push_back(vectors);
  order.push_back(lane);
  s.Reorder(main, order);
  for (std::size_t i = 0; i < taps.size(); ++i) {
    if (write_out || i + 1 == taps.size()) s.Unroll(main, taps[i]);
  }
  s.Unroll(main, vectors);
  s.Vectorize(main, lane);
}

/// Whether the body is a load, or a load padded with a number.
bool IsPadding(const Expr& body) {
  if (body->kind == ExprKind::kLoad) return true;
  return body->kind == ExprKind::kSelect && body->args[1]->kind == ExprKind::kLoad &&
         body->args[2]->kind == ExprKind::kFloat;
}

/// Schedules the computation of an image, row by row. It stays in memory, since vectors begin
/// anywhere in it.
void SchedulePicture(Schedule& s, StageId picture, const Windows& w, std::int64_t lanes,
                     bool parallel) {
  constexpr std::int64_t kMaxVectors = 8;
  const int axes = static_cast<int>(s.stage(picture).op.axes.size());
  LoopId columns = s.SpatialAxis(picture, axes - 1);
  LoopId rows;
  if (w.joined) {
    std::tie(rows, columns) = s.Split(picture, columns, w.row, Tail::kPeel);
  } else {
    rows = s.SpatialAxis(picture, axes - 2);
  }
  const auto [vectors, lane] = s.Split(picture, columns, lanes, Tail::kPeel);
  s.Vectorize(picture, lane);
  // Unrolled, it is known which vectors are at an edge.
  if (s.Extent(vectors) <= kMaxVectors) s.Unroll(picture, vectors);
  s.Pragma(picture, rows, "auto_unroll_max_step", 0);
  if (parallel) s.Parallel(picture, s.Leaves(picture).front());
}

/// Returns a tile that reads padded images without a copy: as many rows of the same columns as the
/// code for all parts of a row allows. Returns nothing if the images are more than padded, or the
/// rows are joined.
std::optional<RowTile> InlineTile(const WindowsPlan& plan, const Workload& w, const RowTile& like) {
  constexpr std::int64_t kGoodCode = 300;  // vectors of products
  if (like.joined) return std::nullopt;
  const auto apart = FindWindows(w.expression, false);
  if (!apart.ok() || apart->pictures.empty()) return std::nullopt;
  for (int number : apart->pictures) {
    if (!IsPadding(apart->compute.stages[static_cast<std::size_t>(number)].body)) {
      return std::nullopt;
    }
  }
  const std::int64_t parts = CeilDiv(plan.windows.width, like.columns);
  std::optional<RowTile> best;
  for (const RowTile& tile : RowTiles(plan)) {
    if (tile.joined || tile.columns != like.columns) continue;
    if (parts * VectorsOf(plan, tile) * CountTaps(plan) > kGoodCode) continue;
    if (!best || tile.rows > best->rows) best = tile;
  }
  return best;
}

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string why = RefusesAnyExpression(w, target); !why.empty()) return why;
  return PlanWindows(w, target).status().message();
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto plan, PlanWindows(w, target));
  TW_ASSIGN_OR_RETURN(auto space, WindowsSpace(plan));
  RowTile tile = DefaultRowTile(plan);
  const std::optional<RowTile> inlined = InlineTile(plan, w, tile);
  if (inlined) tile = *inlined;
  const bool few = VectorsOf(plan, tile) * CountTaps(plan) <= kMaxWrittenOut;
  // An image has to stay in the nearest cache.
  constexpr std::int64_t kNearElements = 6 << 10;
  const std::int64_t rows = std::max<std::int64_t>(1, kNearElements / plan.windows.row);
  std::int64_t band = 0;
  const Knob& bands = space.knobs()[1];
  for (std::int64_t i = 0; i < bands.size(); ++i) {
    if (band == 0 || band > rows) band = bands[i].integer();
  }
  KnobValue place;
  place.value = std::string(inlined ? kPictureInline : kPictureNear);
  return LocateValues(space, {{"tile", tile.Value()},
                              {"band", KnobValue{band}},
                              {"picture", std::move(place)},
                              {"write_out", KnobValue{few}},
                              {"turn_windows", KnobValue{true}}});
}

Result<Kernel> Apply(const Workload& w, const Epilogue&, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto plan, PlanWindows(w, target));
  const std::int64_t lanes = plan.lanes();
  const RowTile tile = TileOf(config);
  const bool write_out = config.Integer("write_out") != 0;
  const std::int64_t sums = VectorsOf(plan, tile);
  if (write_out && sums * CountTaps(plan) > kMaxWrittenOut) {
    return InvalidArgument("code of " + std::to_string(sums * CountTaps(plan)) +
                           " vectors of products, expected at most " +
                           std::to_string(kMaxWrittenOut));
  }
  TW_ASSIGN_OR_RETURN(auto found, FindWindows(w.expression, tile.joined));
  const Windows& windows = found;
  Schedule s(windows.compute);
  const StageId main = s.Stage(windows.op().name);
  const StageId copy = s.Stage(windows.compute.stages[windows.main + 1].name);
  std::vector<StageId> pictures;
  for (int number : windows.pictures) {
    pictures.push_back(s.Stage(windows.compute.stages[static_cast<std::size_t>(number)].name));
  }
  const std::string& place = config.Word("picture");
  std::vector<StageId> kept = {copy};
  if (place == kPictureInline) {
    if (tile.joined) return InvalidArgument("the picture is joined, expected not inline");
    for (const StageId picture : pictures) {
      if (!IsPadding(s.stage(picture).op.body)) {
        return InvalidArgument("the picture is more than padded, expected not inline");
      }
    }
    pictures.clear();
  }
  kept.insert(kept.end(), pictures.begin(), pictures.end());
  InlineElementwise(s, kept);
  s.SetScope(main, Scope::kLocal);
  StageId writer = OnlyConsumer(s, s.stage(copy).op.output);
  if (writer.index < 0) {
    writer = copy;
  } else {
    s.ComputeInline(copy);
  }
  const WindowLoops loops = ScheduleWriter(s, writer, tile, config.Integer("band"), lanes, target);
  // Unrolled, it is known which vectors are at an edge.
  const std::int64_t parts = CeilDiv(windows.width, tile.columns);
  if (place == kPictureInline && parts * sums * CountTaps(plan) <= kMaxWrittenOut) {
    s.Unroll(writer, loops.tile);
  }
  s.ComputeAt(main, writer, loops.tile);
  ScheduleSums(s, main, windows, lanes, write_out, config.Integer("turn_windows") != 0);
  const bool near = place == kPictureNear;
  for (const StageId picture : pictures) {
    if (near) {
      s.ComputeAt(picture, writer, loops.band);
      s.SetScope(picture, Scope::kLocal);
    }
    SchedulePicture(s, picture, windows, lanes, !near && target.num_threads() > 1);
  }
  const std::vector<StageId> order = s.order();
  for (const StageId id : order) {
    const bool own = id == main || id == writer || std::ranges::count(pictures, id) > 0;
    if (own || s.stage(id).attach != Schedule::Attach::kRoot) continue;
    ScheduleFlat(s, id, lanes, target, 1, AcrossAxis(s.stage(id).op, lanes));
  }
  return FinishKernel(std::move(s), {}, {tile.joined ? "windows" : "rows_of_windows"});
}

}  // namespace
}  // namespace windows_auto

TemplateEntry AutoWindowsEntry() {
  using namespace windows_auto;
  return LoopTemplate("auto.cpu/windows", 2, "llvm", kKnobs, &Refuses,
                      &SpaceByPlan<&PlanWindows, &WindowsSpace>, &DefaultConfig, &Apply);
}

}  // namespace tilewright
