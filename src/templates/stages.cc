#include "src/templates/stages.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>

#include "src/ir/simplify.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

std::int64_t FloorPowerOfTwo(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
}

/// Returns the position in memory that a load reads if all axes are 0 except one, which has this
/// value; nothing if the position depends on data.
std::optional<std::int64_t> PositionAt(const ExprNode& load, const std::vector<Axis>& axes,
                                       std::size_t axis, std::int64_t value) {
  Substitution point;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    point.emplace_back(axes[i].var.get(), i == axis ? Expr(value) : Expr(0));
  }
  std::int64_t position = 0;
  for (std::size_t d = 0; d < load.args.size(); ++d) {
    std::int64_t index = 0;
    if (!Simplify(Substitute(load.args[d], point), Ranges()).IsInt(&index)) return std::nullopt;
    position = position * load.buffer->shape[d] + index;
  }
  return position;
}

/// Returns true if a condition holds if all axes have their last value except one, which has this
/// value; nothing if that depends on data.
std::optional<bool> HoldsAt(const Expr& condition, const std::vector<Axis>& axes, std::size_t axis,
                            std::int64_t value) {
  Substitution point;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    point.emplace_back(axes[i].var.get(), Expr(i == axis ? value : axes[i].extent - 1));
  }
  std::int64_t holds = 0;
  if (!Simplify(Substitute(condition, point), Ranges()).IsInt(&holds)) return std::nullopt;
  return holds != 0;
}

/// Returns an axis outside of `innermost` of which only the last iteration has elements that are
/// padding, such as the blocks of channels; -1 if there is none.
int PaddedAxis(const ComputeOp& op, std::size_t innermost) {
  if (op.body->kind != ExprKind::kSelect) return -1;
  const Expr& inside = op.body->args[0];
  for (std::size_t axis = 0; axis < innermost; ++axis) {
    const std::int64_t last = op.axes[axis].extent - 1;
    if (last > 0 && HoldsAt(inside, op.axes, axis, last - 1) == true &&
        HoldsAt(inside, op.axes, axis, last) == false) {
      return static_cast<int>(axis);
    }
  }
  return -1;
}

/// Whether neighbours along an axis are loaded from neighbouring memory, for a block at least.
bool IsContiguous(const ExprNode& load, const std::vector<Axis>& axes, std::size_t axis,
                  std::int64_t block) {
  const auto first = PositionAt(load, axes, axis, 0);
  for (std::int64_t i = 1; i < block; ++i) {
    if (!first || PositionAt(load, axes, axis, i) != *first + i) return false;
  }
  return true;
}

}  // namespace

AnchorStages PrepareStages(Schedule& schedule) {
  AnchorStages stages;
  stages.has_pad = schedule.HasStage("pad");
  if (stages.has_pad) stages.pad = schedule.Stage("pad");
  const StageId reduce = schedule.Stage("reduce");
  if (schedule.HasStage("output")) {
    stages.sum = reduce;
    stages.result = schedule.Stage("output");
    schedule.SetScope(reduce, Scope::kLocal);
  } else {
    stages.sum = schedule.CacheWrite(reduce, Scope::kLocal);
    stages.result = reduce;
  }
  return stages;
}

StageId InlineIntoResult(Schedule& schedule) {
  const StageId reduce = schedule.Stage("reduce");
  if (!schedule.HasStage("output")) return reduce;
  schedule.ComputeInline(reduce);
  return schedule.Stage("output");
}

LoopId FuseAll(Schedule& schedule, StageId stage, const std::vector<LoopId>& loops) {
  LoopId fused = loops.front();
  for (std::size_t i = 1; i < loops.size(); ++i) fused = schedule.Fuse(stage, fused, loops[i]);
  return fused;
}

void ParallelFor(Schedule& schedule, StageId stage, LoopId loop, const Target& target) {
  if (target.num_threads() > 1) schedule.Parallel(stage, loop);
}

int InnermostAxis(const ComputeOp& op) {
  auto axis = static_cast<int>(op.axes.size()) - 1;
  for (int i = axis; i >= 0; --i) {
    if (op.axes[static_cast<std::size_t>(i)].extent > 1) return i;
  }
  return axis;
}

namespace {

/// Axis along which data are contiguous, and the elements of such a run, a power of two.
struct Across {
  int axis = -1;
  std::int64_t run = 0;
};

Across AcrossOf(const ComputeOp& op, std::int64_t lanes) {
  constexpr std::int64_t kMin = 4;  // rows and columns of a block
  const std::vector<Axis>& axes = op.axes;
  if (axes.size() < 2) return {};
  const auto last = static_cast<std::size_t>(InnermostAxis(op));
  if (axes[last].extent < kMin) return {};
  Across found;
  ForEachNode(op.body, [&](const Expr& node) {
    if (node->kind != ExprKind::kLoad || found.axis >= 0) return;
    const auto first = PositionAt(*node, axes, last, 0), second = PositionAt(*node, axes, last, 1);
    if (!first || !second || *second - *first == 0 || *second - *first == 1) return;
    for (std::int64_t run = FloorPowerOfTwo(lanes); run >= kMin; run /= 2) {
      for (std::size_t axis = 0; axis < last && found.axis < 0; ++axis) {
        if (run <= axes[axis].extent && IsContiguous(*node, axes, axis, run)) {
          found = {static_cast<int>(axis), run};
        }
      }
    }
  });
  return found;
}

}  // namespace

int AcrossAxis(const ComputeOp& op, std::int64_t lanes) { return AcrossOf(op, lanes).axis; }

FlatLoops ScheduleFlat(Schedule& schedule, StageId stage, std::int64_t lanes, const Target& target,
                       std::int64_t tile, int across) {
  std::vector<LoopId> outer = schedule.Leaves(stage);
  outer.resize(std::min(schedule.stage(stage).op.axes.size(), outer.size()));
  FlatLoops loops;
  if (outer.empty()) return loops;
  const auto vector_axis = static_cast<std::size_t>(InnermostAxis(schedule.stage(stage).op));
  const std::size_t innermost = std::min(outer.size() - 1, vector_axis);
  LoopId last = outer[innermost];
  // Move loops of one iteration that are inside it outside.
  const std::vector<LoopId> single(outer.begin() + static_cast<std::ptrdiff_t>(innermost) + 1,
                                   outer.end());
  outer.resize(innermost);
  LoopId rows;
  if (across >= 0) {
    LoopId& axis = outer[static_cast<std::size_t>(across)];
    const Across found = AcrossOf(schedule.stage(stage).op, lanes);
    const std::int64_t count =
        found.axis == across ? found.run : std::min(lanes, FloorPowerOfTwo(schedule.Extent(axis)));
    std::tie(axis, rows) = schedule.Split(stage, axis, count, Tail::kPeel);
    const int padded = PaddedAxis(schedule.stage(stage).op, vector_axis);
    if (padded >= 0 && padded != across) {  // without conditions, rows can be transposed
      LoopId& blocks = outer[static_cast<std::size_t>(padded)];
      const auto [part, block] =
          schedule.Split(stage, blocks, schedule.Extent(blocks) - 1, Tail::kPeel);
      blocks = part;
      outer.insert(outer.begin() + padded + 1, block);
    }
  }
  if (schedule.Extent(last) > lanes) {
    const auto [chunks, lane] = schedule.Split(stage, last, lanes, Tail::kPeel);
    outer.push_back(chunks);
    last = lane;
  }
  if (schedule.Extent(last) > 1) {
    std::vector<LoopId> inner = single;
    for (LoopId loop : schedule.Leaves(stage)) {
      if (schedule.loop(loop).reduction) inner.push_back(loop);
    }
    if (rows.index >= 0) {
      inner.insert(inner.begin(), outer.begin(), outer.end());
      inner.push_back(rows);
      schedule.Unroll(stage, rows);
    }
    inner.push_back(last);
    schedule.Reorder(stage, inner);
    schedule.Vectorize(stage, last);
  }
  if (tile > 1 && !outer.empty()) {
    const auto [steps, inside] = schedule.Split(stage, outer.back(), tile, Tail::kPeel);
    schedule.Unroll(stage, inside);
    outer.back() = steps;
  }
  if (outer.empty()) return loops;
  loops.innermost = outer.back();
  if (target.num_threads() == 1) return loops;
  // Fuse only as many loops as the threads need: the index of a fused loop costs divisions.
  std::int64_t iterations = 1;
  std::size_t fused = 0;
  constexpr std::int64_t kIterationsPerThread = 4;
  while (fused < outer.size() && iterations < kIterationsPerThread * target.num_threads()) {
    iterations *= schedule.Extent(outer[fused++]);
  }
  outer.resize(fused);
  const bool all = outer.back() == loops.innermost;
  const LoopId parallel = FuseAll(schedule, stage, outer);
  schedule.Parallel(stage, parallel);
  if (all) loops.innermost = parallel;
  return loops;
}

}  // namespace tilewright
