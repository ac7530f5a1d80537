// `auto.cpu/tiles`: a tile of results in registers, added up over all of the reduction, then what
// follows is done to the tile and it is written. Around it, for each axis, tiles of tiles that stay
// in a cache. Operands that lie across the vectors are turned first, constants of the model packed.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/target/cpu.h"
#include "src/templates/auto/contraction.h"
#include "src/templates/auto/rules.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace {

constexpr std::int64_t kLongestWindow = 7;  // reduced axes of so few steps are written out whole

std::string MidName(int axis) { return fmt::format("mid_{}", axis); }

std::vector<std::int64_t> MidSizes(std::int64_t extent) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size < extent; size *= 2) sizes.push_back(size);
  sizes.push_back(std::max<std::int64_t>(extent, 1));
  return sizes;
}

Knob TileKnob(const std::string& name, const std::vector<RegisterTile>& tiles) {
  std::vector<KnobValue> values;
  for (const RegisterTile& tile : tiles) values.emplace_back().value = tile;
  return Knob::Candidates(name, KnobKind::kOther, std::move(values));
}

/// Axes that there is something to decide about.
std::vector<int> LongAxes(const Contraction& c) {
  std::vector<int> axes;
  for (int i = 0; i < static_cast<int>(c.op().axes.size()); ++i) {
    if (c.extent(i) > 1) axes.push_back(i);
  }
  return axes;
}

bool HasWindow(const Contraction& c) {
  const std::vector<Axis>& axes = c.op().reduce_axes;
  return axes.size() > 1 && std::ranges::any_of(axes, [](const Axis& axis) {
           return axis.extent > 1 && axis.extent <= kLongestWindow;
         });
}

bool HasConstant(const Contraction& c) {
  return std::ranges::any_of(c.operands, [](const Contraction::Operand& operand) {
    return operand.constant && (operand.across >= 0 || operand.row_dimension >= 0);
  });
}

/// The stages that matter, once the cheap ones are gone.
struct TiledStages {
  StageId main, writer;
};

bool ReadsBuffer(const Schedule& s, StageId id, const Buffer& buffer, bool* as_it_is) {
  bool reads = false;
  const ComputeOp& op = s.stage(id).op;
  ForEachNode(op.body, [&](const Expr& node) {
    if (node->kind != ExprKind::kLoad || node->buffer != buffer) return;
    reads = true;
    *as_it_is = *as_it_is && node->args.size() == op.axes.size();
    for (std::size_t d = 0; *as_it_is && d < node->args.size(); ++d) {
      *as_it_is = node->args[d].Same(op.axes[d].var);
    }
  });
  return reads;
}

/// Operands that cost something to make are made once; what only follows goes to its reader.
TiledStages PrepareTiled(Schedule& s, const std::string& name) {
  const StageId main = s.Stage(name);
  std::vector<StageId> kept;
  for (const StageId id : s.order()) {
    bool as_it_is = true;
    if (!ReadsBuffer(s, main, s.stage(id).op.output, &as_it_is)) continue;
    const Expr& body = s.stage(id).op.body;
    const bool cheap = body->kind == ExprKind::kLoad ||
                       (body->kind == ExprKind::kCast && body->args[0]->kind == ExprKind::kLoad &&
                        body.dtype().is_float() == body->args[0].dtype().is_float());
    const bool turned = s.stage(id).op.name.ends_with(".turned");
    if (!cheap || turned) kept.push_back(id);
  }
  InlineElementwise(s, kept);
  std::vector<StageId> readers;
  bool as_it_is = true;
  for (const StageId id : s.order()) {
    if (s.stage(id).attach == Schedule::Attach::kInline) continue;
    if (ReadsBuffer(s, id, s.stage(main).op.output, &as_it_is)) readers.push_back(id);
  }
  const bool fused =
      readers.size() == 1 && as_it_is && s.stage(readers[0]).op.combiner == Combiner::kNone;
  if (fused) {
    s.SetScope(main, Scope::kLocal);
    return {main, readers[0]};
  }
  return {s.CacheWrite(main, Scope::kLocal), main};
}

/// Loops of the writer; gives the one that the sums are computed in.
LoopId TileWriter(Schedule& s, StageId writer, const Contraction& c, const RegisterTile& tile,
                  std::int64_t lanes, const Config& config, const Target& target) {
  std::vector<LoopId> outer, mid, inner;
  LoopId vectors, lane;
  for (int i = 0; i < static_cast<int>(c.op().axes.size()); ++i) {
    const LoopId axis = s.SpatialAxis(writer, i);
    if (c.extent(i) == 1) {
      outer.push_back(axis);
      continue;
    }
    const auto row = std::ranges::find(c.rows, i);
    const bool is_vector = i == c.vector_axis;
    std::int64_t step = 1;
    if (row != c.rows.end()) step = tile[static_cast<std::size_t>(row - c.rows.begin())];
    if (is_vector) step = tile.back() * lanes;
    LoopId rest = axis;
    if (step > 1 || is_vector) {
      const auto [tiles, inside] = s.Split(writer, axis, step, Tail::kPeel);
      rest = tiles;
      if (is_vector) {
        std::tie(vectors, lane) = s.Split(writer, inside, lanes, Tail::kPeel);
      } else {
        inner.push_back(inside);
      }
    }
    const std::int64_t count = s.Extent(rest);
    const std::int64_t wanted = CeilDiv(config.Integer(MidName(i)), step);
    const auto [far, near] =
        s.Split(writer, rest, LargestDivisor(count, std::max<std::int64_t>(wanted, 1)));
    outer.push_back(far);
    mid.push_back(near);
  }
  // The axis that the loops inside of a cached tile go on along.
  const auto first = static_cast<std::size_t>(config.Integer("innermost"));
  if (first < mid.size())
    std::rotate(mid.begin() + static_cast<std::ptrdiff_t>(first),
                mid.begin() + static_cast<std::ptrdiff_t>(first) + 1, mid.end());
  const LoopId at = mid.back();
  std::vector<LoopId> order = outer;
  for (const auto* loops : {&mid, &inner}) order.insert(order.end(), loops->begin(), loops->end());
  order.push_back(vectors);
  order.push_back(lane);
  s.Reorder(writer, order);
  for (const LoopId loop : inner) s.Unroll(writer, loop);
  s.Unroll(writer, vectors);
  s.Vectorize(writer, lane);
  if (target.num_threads() > 1) s.Parallel(writer, FuseAll(s, writer, outer));
  return at;
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

/// Turns and packs operands; gives the form of the kernel. arranged: gets what was done.
AnchorForm ArrangeOperands(Contraction& c, const RegisterTile& tile, std::int64_t lanes, bool pack,
                           std::vector<std::string>& arranged) {
  AnchorForm form;
  const auto packs_in = [&](std::size_t i, int dimension, std::int64_t block) {
    form.weight = PackOperand(c, i, dimension, block);
    arranged.push_back(fmt::format("pack, {}, {}, {}", i, dimension, block));
  };
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    const Contraction::Operand operand = c.operands[i];
    const bool packs = pack && operand.constant && form.weight.empty();
    const bool known = operand.input >= 0 &&
                       operand.buffer == c.compute.inputs[static_cast<std::size_t>(operand.input)];
    if (operand.input >= 0 && !known) continue;  // read twice: arranged already
    if (operand.across >= 0) {
      if (packs) {
        packs_in(i, operand.across, tile.back() * lanes);
      } else {
        TurnOperand(c, i);
        arranged.push_back(fmt::format("turn, {}", i));
      }
    } else if (packs && operand.row_dimension >= 0) {
      const auto row = std::ranges::find(c.rows, operand.row_axis) - c.rows.begin();
      const std::int64_t block = tile[static_cast<std::size_t>(row)];
      if (block > 1) packs_in(i, operand.row_dimension, block);
    }
  }
  return form;
}

struct TilesPlan {
  Contraction contraction;
  CpuFeatures features;
};

Result<TilesPlan> PlanTiles(const Workload& w, const Target& target) {
  auto features = FeaturesOf(target);
  TW_RETURN_IF_ERROR(features);
  auto contraction = FindContraction(w.expression);
  TW_RETURN_IF_ERROR(contraction);
  return TilesPlan{*std::move(contraction), *std::move(features)};
}

Result<ConfigSpace> TilesSpace(const TilesPlan& plan) {
  const Contraction& c = plan.contraction;
  const std::int64_t lanes = plan.features.float_lanes();
  std::vector<Result<Knob>> knobs = {TileKnob("tile", RegisterTiles(c, plan.features, lanes))};
  for (int axis : LongAxes(c))
    knobs.push_back(Knob::Other(MidName(axis), MidSizes(c.extent(axis))));
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(LongAxes(c).size()); ++i) {
    places.push_back(i);
  }
  knobs.push_back(Knob::Other("innermost", std::move(places)));
  knobs.push_back(Knob::Other("unroll", {1, 2, 4, 8, 16}));
  if (HasWindow(c)) knobs.push_back(Knob::Bool("window", {true, false}));
  if (HasConstant(c)) knobs.push_back(Knob::Bool("pack", {true, false}));
  return MakeSpace(std::move(knobs));
}

}  // namespace

std::string AutoTiles::Refuses(const Workload& w, const Target& target) {
  if (std::string why = RefusesAnyExpression(w, target); !why.empty()) return why;
  const auto plan = PlanTiles(w, target);
  return plan.ok() ? "" : plan.status().message();
}

Result<ConfigSpace> AutoTiles::DefineSpace(const Workload& w, const Target& target) {
  auto plan = PlanTiles(w, target);
  TW_RETURN_IF_ERROR(plan);
  return TilesSpace(*plan);
}

Result<Config> AutoTiles::DefaultConfig(const Workload& w, const Target& target) {
  auto plan = PlanTiles(w, target);
  TW_RETURN_IF_ERROR(plan);
  const Contraction& c = plan->contraction;
  auto space = TilesSpace(*plan);
  TW_RETURN_IF_ERROR(space);
  std::vector<std::pair<std::string, KnobValue>> values;
  const RegisterTile tile = BestRegisterTile(c, plan->features, plan->features.float_lanes());
  values.emplace_back("tile", KnobValue{tile});
  const std::vector<int> axes = LongAxes(c);
  for (int axis : axes) values.emplace_back(MidName(axis), KnobValue{std::int64_t{1}});
  values.emplace_back("innermost", KnobValue{static_cast<std::int64_t>(axes.size()) - 1});
  values.emplace_back("unroll", KnobValue{std::int64_t{HasWindow(c) ? 1 : 4}});
  if (HasWindow(c)) values.emplace_back("window", KnobValue{true});
  if (HasConstant(c)) values.emplace_back("pack", KnobValue{true});
  return LocateValues(*space, std::move(values));
}

Result<Kernel> AutoTiles::Apply(const Workload& w, const Epilogue&, const Target& target,
                                const Config& config) {
  auto plan = PlanTiles(w, target);
  TW_RETURN_IF_ERROR(plan);
  Contraction& c = plan->contraction;
  const std::int64_t lanes = plan->features.float_lanes();
  const RegisterTile& tile = config.Factors("tile");
  const KnobValue* pack = config.Find("pack");
  const KnobValue* window = config.Find("window");
  std::vector<std::string> arranged = {"contraction"};
  const AnchorForm form =
      ArrangeOperands(c, tile, lanes, pack != nullptr && pack->integer() != 0, arranged);
  Schedule s(c.compute);
  const TiledStages stages = PrepareTiled(s, c.op().name);
  const LoopId at = TileWriter(s, stages.writer, c, tile, lanes, config, target);
  s.ComputeAt(stages.main, stages.writer, at);
  TileMain(s, stages.main, c, lanes, config, window != nullptr && window->integer() != 0);
  const std::vector<StageId> order = s.order();
  for (const StageId id : order) {
    const Schedule::StageInfo& stage = s.stage(id);
    if (id == stages.main || id == stages.writer) continue;
    if (stage.attach != Schedule::Attach::kRoot) continue;
    ScheduleFlat(s, id, lanes, target, 1, AcrossAxis(stage.op, lanes));
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), form, std::move(arranged)};
}

}  // namespace tilewright
