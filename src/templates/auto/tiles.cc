// `auto.cpu/tiles`: a tile of results in registers is summed over the whole reduction; then the
// elementwise stages after it are applied and it is written. Around it, each axis has tiles of
// tiles that stay in a cache. Operands that are read across the vectors are transposed first;
// constants of the model are packed. If vectors are along another axis than that along which the
// result is contiguous, a tile is transposed in registers when it is written.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "src/base/math.h"
#include "src/schedule/dot.h"
#include "src/target/cpu.h"
#include "src/templates/auto/contraction.h"
#include "src/templates/auto/register_tiles.h"
#include "src/templates/auto/rules.h"
#include "src/templates/auto/templates.h"
#include "src/templates/auto/tile_stages.h"
#include "src/templates/plan_functions.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace tiles_auto {
namespace {

constexpr std::int64_t kLongestWindow =
    7;  // reduction axes of at most this length are unrolled as a whole

std::string MidName(int axis) { return fmt::format("mid_{}", axis); }

std::vector<std::int64_t> MidSizes(std::int64_t extent) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size < extent; size *= 2) sizes.push_back(size);
  sizes.push_back(std::max<std::int64_t>(extent, 1));
  return sizes;
}

/// Returns the axes of the result with more than one element.
std::vector<int> LongAxes(const Contraction& c) {
  std::vector<int> axes;
  for (int i = 0; i < static_cast<int>(c.order.size()); ++i) {
    if (c.extent(c.AxisOfResult(i)) > 1) axes.push_back(i);
  }
  return axes;
}

bool HasWindow(const Contraction& c) {
  const std::vector<Axis>& axes = c.op().reduce_axes;
  return axes.size() > 1 && std::ranges::any_of(axes, [](const Axis& axis) {
           return axis.extent > 1 && axis.extent <= kLongestWindow;
         });
}

bool HasConstant(const std::vector<Contraction>& contractions) {
  return std::ranges::any_of(contractions, [](const Contraction& c) {
    return std::ranges::any_of(c.operands, [](const Contraction::Operand& operand) {
      return operand.constant && (operand.across >= 0 || operand.row_dimension >= 0);
    });
  });
}

// Places where a stage computes an operand, element by element.
constexpr const char* kMadeBefore = "before";  // as a whole
constexpr const char* kMadeInTile = "tile";    // for a cached tile
constexpr const char* kMadeInline = "inline";  // where it is read, padding skipped

/// Whether an operand is computed by a stage without a sum.
bool MakesOperand(const Contraction& c) {
  return std::ranges::any_of(c.operands, [&](const Contraction::Operand& operand) {
    return std::ranges::any_of(c.compute.stages, [&](const ComputeOp& op) {
      return op.output == operand.buffer && op.combiner == Combiner::kNone;
    });
  });
}

/// Stages that are scheduled, after the cheap ones are inlined.
struct TiledStages {
  StageId main, writer;
  std::vector<StageId> made;  // that compute operands, element by element
};

/// Loops of the writer.
struct TileLoops {
  LoopId cached;  // around a cached tile
  LoopId tile;    // around a register tile
};

/// Computes operands once if that costs something; inlines elementwise stages after them in their
/// readers.
TiledStages PrepareTiled(Schedule& s, const Contraction& c) {
  const StageId main = s.Stage(c.op().name);
  std::vector<StageId> kept;
  for (const StageId id : s.order()) {
    bool as_it_is = true;
    if (!ReadsBuffer(s, main, s.stage(id).op.output, &as_it_is)) continue;
    const Expr& body = s.stage(id).op.body;
    const bool cheap = body->kind == ExprKind::kLoad ||
                       (body->kind == ExprKind::kCast && body->args[0]->kind == ExprKind::kLoad &&
                        body.dtype().is_float() == body->args[0].dtype().is_float());
    const bool transposed = s.stage(id).op.name.ends_with(".turned");
    if (!cheap || transposed) kept.push_back(id);
  }
  TiledStages stages{main, main, {}};
  for (const StageId id : kept) {
    if (s.stage(id).op.combiner == Combiner::kNone) stages.made.push_back(id);
  }
  StageId copy;  // that transposes the result
  if (c.transposed()) {
    copy = s.Stage(c.compute.stages[c.main + 1].name);
    kept.push_back(copy);
  }
  InlineElementwise(s, kept);
  const StageId written = c.transposed() ? copy : main;
  const StageId follower = OnlyConsumer(s, s.stage(written).op.output);
  if (follower.index < 0 && !c.transposed()) {
    stages.main = s.CacheWrite(main, Scope::kLocal);
    return stages;
  }
  s.SetScope(main, Scope::kLocal);
  stages.writer = follower.index < 0 ? copy : follower;
  if (c.transposed() && follower.index >= 0) s.ComputeInline(copy);
  return stages;
}

/// Places the stages that compute operands.
void PlaceOperands(Schedule& s, const TiledStages& stages, const TileLoops& loops,
                   const std::string& place, std::int64_t lanes, Target target) {
  if (place == kMadeBefore) return;
  target.SetOption("num-threads", "1");
  bool skips = false;
  for (const StageId id : stages.made) {
    if (place == kMadeInTile) {
      s.ComputeAt(id, stages.writer, loops.cached);
      s.SetScope(id, Scope::kLocal);
      ScheduleFlat(s, id, lanes, target, 1, AcrossAxis(s.stage(id).op, lanes));
    } else if (s.stage(id).op.body->kind == ExprKind::kSelect) {
      s.ComputeInline(id);
      skips = true;
    }
  }
  std::vector<Expr> conditions;
  StripPaddedTaps(s.stage(stages.main).op, &conditions);
  if (skips && !conditions.empty()) s.SkipZeroTaps(stages.main);
}

std::int64_t StepsOfTile(const Contraction& c, const RegisterTile& tile, std::int64_t lanes,
                         int axis) {
  const auto row = std::ranges::find(c.rows, axis);
  if (row != c.rows.end()) return tile[static_cast<std::size_t>(row - c.rows.begin())];
  return axis == c.vector_axis ? tile.back() * lanes : 1;
}

TileLoops TileWriter(Schedule& s, StageId writer, const Contraction& c, const RegisterTile& tile,
                     std::int64_t lanes, const Config& config, const Target& target) {
  std::vector<LoopId> outer, mid, inner, lane;  // lane: the loops of one vector, or of a block
  LoopId along;
  for (int i = 0; i < static_cast<int>(c.order.size()); ++i) {
    const LoopId axis = s.SpatialAxis(writer, i);
    const int own = c.AxisOfResult(i);
    if (c.extent(own) == 1) {
      outer.push_back(axis);
      continue;
    }
    const bool is_vector = own == c.vector_axis, is_result = own == c.result_axis;
    const std::int64_t step = StepsOfTile(c, tile, lanes, own);
    LoopId rest = axis;
    if (step > 1 || is_vector) {
      const auto [tiles, inside] = s.Split(writer, axis, step, Tail::kPeel);
      rest = tiles;
      LoopId last = inside;
      if (is_vector) {
        const auto [vectors, lanes_of_it] = s.Split(writer, inside, lanes, Tail::kPeel);
        inner.push_back(vectors);
        last = lanes_of_it;
      }
      if (is_result && !is_vector) {
        // Only blocks of as many rows as columns can be transposed in registers.
        const auto [blocks, columns] = s.Split(writer, inside, lanes, Tail::kPeel);
        inner.push_back(blocks);
        last = columns;
      }
      if (is_result) along = last;
      if (is_vector && !is_result) lane.push_back(last);
      if (!is_vector && !is_result) inner.push_back(last);
    }
    const std::int64_t count = s.Extent(rest);
    const std::int64_t wanted = CeilDiv(config.Integer(MidName(i)), step);
    const std::int64_t cached = LargestDivisor(count, std::max<std::int64_t>(wanted, 1));
    // If the last tile is cut, only whole loops have it at their end; in others each element would
    // need a test.
    const bool cut = c.extent(own) % step != 0 && cached < count;
    const auto [far, near] = s.Split(writer, rest, cut ? 1 : cached);
    outer.push_back(far);
    mid.push_back(near);
  }
  // Rotates the axis of the innermost loop of a cached tile to the end.
  const auto first = static_cast<std::size_t>(config.Integer("innermost"));
  if (first < mid.size())
    std::rotate(mid.begin() + static_cast<std::ptrdiff_t>(first),
                mid.begin() + static_cast<std::ptrdiff_t>(first) + 1, mid.end());
  TileLoops loops_of_tiles{outer.back(), mid.back()};
  std::vector<LoopId> order = outer;
  for (const auto* loops : {&mid, &inner, &lane}) {
    order.insert(order.end(), loops->begin(), loops->end());
  }
  order.push_back(along);
  s.Reorder(writer, order);
  for (const auto* loops : {&inner, &lane}) {
    for (const LoopId loop : *loops) s.Unroll(writer, loop);
  }
  s.Vectorize(writer, along);
  if (target.num_threads() > 1) {
    loops_of_tiles.cached = FuseAll(s, writer, outer);
    s.Parallel(writer, loops_of_tiles.cached);
  }
  return loops_of_tiles;
}

void TileMain(Schedule& s, StageId main, const Contraction& c, std::int64_t lanes,
              const Config& config, bool window) {
  std::vector<LoopId> outside, steps, unrolled, rows;
  LoopId vectors, lane;
  for (int i = 0; i < static_cast<int>(c.op().axes.size()); ++i) {
    const LoopId axis = s.SpatialAxis(main, i);
    if (i == c.vector_axis) {
      std::tie(vectors, lane) = s.Split(main, axis, lanes, Tail::kPeel);
    } else {
      const bool row = std::ranges::find(c.rows, i) != c.rows.end();
      (row ? rows : outside).push_back(axis);
    }
  }
  const auto reductions = static_cast<int>(c.op().reduce_axes.size());
  for (int i = 0; i < reductions; ++i) {
    const LoopId axis = s.ReductionAxis(main, i);
    if (window && s.Extent(axis) <= kLongestWindow) {
      unrolled.push_back(axis);
    } else {
      steps.push_back(axis);
    }
  }
  const std::int64_t unroll = config.Integer("unroll");
  if (!steps.empty() && unroll > 1) {
    const auto [step, inside] = s.Split(main, steps.back(), unroll, Tail::kPeel);
    steps.back() = step;
    unrolled.push_back(inside);
  }
  std::vector<LoopId> order = outside;
  for (const auto* loops : {&steps, &unrolled, &rows}) {
    order.insert(order.end(), loops->begin(), loops->end());
  }
  order.push_back(vectors);
  order.push_back(lane);
  s.Reorder(main, order);
  for (const auto* loops : {&unrolled, &rows}) {
    for (const LoopId loop : *loops) s.Unroll(main, loop);
  }
  s.Unroll(main, vectors);
  s.Vectorize(main, lane);
}

/// Returns the vectors of products in the code of one step of the reduction. inlined: padding is
/// skipped, with separate code for tiles at the edges.
std::int64_t WrittenOut(const Contraction& c, const RegisterTile& tile, bool window,
                        std::int64_t unroll, bool inlined) {
  std::int64_t products = Product(tile), innermost = 0;
  for (const Axis& axis : c.op().reduce_axes) {
    if (window && axis.extent <= kLongestWindow) {
      products *= axis.extent;
    } else {
      innermost = axis.extent;
    }
  }
  if (innermost > 0) products *= std::min(innermost, unroll);
  return inlined ? 3 * products : products;
}

/// Transposes and packs operands; returns the layouts of the kernel. arranged: receives the
/// changes.
KernelLayouts ArrangeOperands(Contraction& c, const RegisterTile& tile, std::int64_t lanes,
                              bool pack, std::vector<std::string>& arranged) {
  KernelLayouts layouts;
  const auto packs_in = [&](std::size_t i, int dimension, std::int64_t block) {
    layouts.weight = PackOperand(c, i, dimension, block);
    arranged.push_back(fmt::format("pack, {}, {}, {}", i, dimension, block));
  };
  std::vector<Buffer> transposed;  // all reads of a buffer change with the first
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    const Contraction::Operand operand = c.operands[i];
    if (std::ranges::count(transposed, operand.buffer) > 0) continue;
    const bool packs = pack && operand.constant && layouts.weight.empty();
    const bool known = operand.input >= 0 &&
                       operand.buffer == c.compute.inputs[static_cast<std::size_t>(operand.input)];
    if (operand.input >= 0 && !known) continue;  // read twice, and arranged already
    if (operand.across >= 0) {
      if (packs) {
        packs_in(i, operand.across, tile.back() * lanes);
      } else {
        TransposeOperand(c, i);
        transposed.push_back(operand.buffer);
        arranged.push_back(fmt::format("turn, {}", i));
      }
    } else if (packs && operand.row_dimension >= 0) {
      const auto row = std::ranges::find(c.rows, operand.row_axis) - c.rows.begin();
      const std::int64_t block = tile[static_cast<std::size_t>(row)];
      if (block > 1) packs_in(i, operand.row_dimension, block);
    }
  }
  return layouts;
}

struct TilesPlan {
  std::vector<Contraction> contractions;  // by axis of the vectors, the innermost first
  CpuFeatures features;
};

/// Tile, with its contraction.
struct ChosenTile {
  const Contraction* contraction = nullptr;
  RegisterTile tile;

  /// Value of the knob: the axis of the result along which the vectors are, then the steps.
  KnobValue Value() const {
    std::vector<std::int64_t> value = {
        contraction->order[static_cast<std::size_t>(contraction->vector_axis)]};
    value.insert(value.end(), tile.begin(), tile.end());
    return KnobValue{std::move(value)};
  }
};

Result<TilesPlan> PlanTiles(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  TW_ASSIGN_OR_RETURN(auto contractions, FindContractions(w.expression));
  return TilesPlan{std::move(contractions), std::move(features)};
}

constexpr KnobDoc kKnobs[] = {
    {"tile",
     "Register tile: the axis of the result along which vectors are made, iterations of up to "
     "two other axes, vectors."},
    {"mid_<axis>",
     "About how many iterations of this axis of the result one tile in cache has. It is a "
     "multiple of the register tile."},
    {"innermost",
     "The innermost loop over register tiles of a tile in cache: position among the axes of "
     "the result that have more than one element."},
    {"unroll", "Iterations of the innermost long reduction axis that are unrolled."},
    {"window",
     "true unrolls reduction axes of up to 7 iterations as a whole. Only with such an axis."},
    {"operands",
     "Where elementwise operands are computed. `before`: as a whole, first; `tile`: for each tile "
     "in cache; `inline`: where they are read, without their padding. Only with such operands."},
    {"pack",
     "true packs an operand that is a constant of the model in the order in which register "
     "tiles read it. Only with such an operand."},
};

Result<ConfigSpace> TilesSpace(const TilesPlan& plan) {
  const Contraction& c = plan.contractions[0];
  const std::int64_t lanes = plan.features.float_lanes();
  std::vector<KnobValue> tiles;
  for (const Contraction& each : plan.contractions) {
    for (RegisterTile& tile : RegisterTiles(each, plan.features, lanes)) {
      tiles.push_back(ChosenTile{&each, std::move(tile)}.Value());
    }
  }
  std::vector<Result<Knob>> knobs = {Knob::Candidates("tile", KnobKind::kOther, std::move(tiles))};
  for (int axis : LongAxes(c))
    knobs.push_back(Knob::Other(MidName(axis), MidSizes(c.extent(axis))));
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(LongAxes(c).size()); ++i) {
    places.push_back(i);
  }
  knobs.push_back(Knob::Other("innermost", std::move(places)));
  knobs.push_back(Knob::Other("unroll", {1, 2, 4, 8, 16}));
  if (HasWindow(c)) knobs.push_back(Knob::Bool("window", {true, false}));
  if (MakesOperand(c)) {
    knobs.push_back(Knob::Words("operands", {kMadeBefore, kMadeInTile, kMadeInline}));
  }
  if (HasConstant(plan.contractions)) knobs.push_back(Knob::Bool("pack", {true, false}));
  return MakeSpace(std::move(knobs));
}

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string why = RefusesAnyExpression(w, target); !why.empty()) return why;
  return PlanTiles(w, target).status().message();
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto plan, PlanTiles(w, target));
  TW_ASSIGN_OR_RETURN(auto space, TilesSpace(plan));
  const std::int64_t lanes = plan.features.float_lanes();
  ChosenTile best;
  double best_cycles = 0;
  for (const Contraction& each : plan.contractions) {
    RegisterTile tile = BestRegisterTile(each, plan.features, lanes);
    if (tile.empty()) continue;
    const double cycles = CyclesWithTile(each, tile, lanes);
    if (best.contraction != nullptr && cycles >= best_cycles) continue;
    best = {&each, std::move(tile)};
    best_cycles = cycles;
  }
  if (best.contraction == nullptr) return Unsupported("no tile fits the registers");
  const Contraction& c = *best.contraction;
  std::vector<std::pair<std::string, KnobValue>> values;
  values.emplace_back("tile", best.Value());
  const std::vector<int> axes = LongAxes(c);
  for (int axis : axes) values.emplace_back(MidName(axis), KnobValue{std::int64_t{1}});
  values.emplace_back("innermost", KnobValue{static_cast<std::int64_t>(axes.size()) - 1});
  const std::int64_t unroll = HasWindow(c) ? 1 : 4;
  values.emplace_back("unroll", KnobValue{unroll});
  if (HasWindow(c)) {
    const bool window = WrittenOut(c, best.tile, true, unroll, false) <= kMaxWrittenOut;
    values.emplace_back("window", KnobValue{window});
  }
  if (MakesOperand(c)) {
    KnobValue place;
    place.value = std::string(kMadeBefore);
    values.emplace_back("operands", std::move(place));
  }
  if (HasConstant(plan.contractions)) values.emplace_back("pack", KnobValue{true});
  return LocateValues(space, std::move(values));
}

Result<Kernel> Apply(const Workload& w, const Epilogue&, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto plan, PlanTiles(w, target));
  const std::vector<std::int64_t>& chosen = config.Factors("tile");
  const RegisterTile tile(chosen.begin() + 1, chosen.end());
  const auto found = std::ranges::find_if(plan.contractions, [&](const Contraction& each) {
    return each.order[static_cast<std::size_t>(each.vector_axis)] == chosen[0];
  });
  if (found == plan.contractions.end()) {
    return InvalidArgument(fmt::format("no vectors along axis {}", chosen[0]));
  }
  Contraction& c = *found;
  const std::int64_t lanes = plan.features.float_lanes();
  const KnobValue* pack = config.Find("pack");
  const KnobValue* window_knob = config.Find("window");
  const bool window = window_knob != nullptr && window_knob->integer() != 0;
  const KnobValue* place = config.Find("operands");
  const bool inlined = place != nullptr && std::get<std::string>(place->value) == kMadeInline;
  const std::int64_t products = WrittenOut(c, tile, window, config.Integer("unroll"), inlined);
  if (products > kMaxWrittenOut) {
    return InvalidArgument(fmt::format("code of {} vectors of products, expected at most {}",
                                       products, kMaxWrittenOut));
  }
  std::vector<std::string> arranged = {c.transposed() ? fmt::format("contraction, {}", chosen[0])
                                                      : "contraction"};
  const KernelLayouts layouts =
      ArrangeOperands(c, tile, lanes, pack != nullptr && pack->integer() != 0, arranged);
  Schedule s(c.compute);
  const TiledStages stages = PrepareTiled(s, c);
  const TileLoops loops = TileWriter(s, stages.writer, c, tile, lanes, config, target);
  s.ComputeAt(stages.main, stages.writer, loops.tile);
  if (place != nullptr) {
    PlaceOperands(s, stages, loops, std::get<std::string>(place->value), lanes, target);
  }
  TileMain(s, stages.main, c, lanes, config, window);
  const std::vector<StageId> order = s.order();
  for (const StageId id : order) {
    const Schedule::StageInfo& stage = s.stage(id);
    if (id == stages.main || id == stages.writer) continue;
    if (stage.attach != Schedule::Attach::kRoot) continue;
    ScheduleFlat(s, id, lanes, target, 1, AcrossAxis(stage.op, lanes));
  }
  return FinishKernel(std::move(s), layouts, std::move(arranged));
}

}  // namespace
}  // namespace tiles_auto

TemplateEntry AutoTilesEntry() {
  using namespace tiles_auto;
  return LoopTemplate("auto.cpu/tiles", 3, "llvm", kKnobs, &Refuses,
                      &SpaceByPlan<&PlanTiles, &TilesSpace>, &DefaultConfig, &Apply);
}

}  // namespace tilewright
