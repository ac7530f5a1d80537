// Stages as launches of a GPU: one result or a few for each thread, sums by one thread or by a row
// of threads, and all stages of a row in one block.

#include "src/templates/auto/grid_stages.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/templates/auto/tile_stages.h"
#include "src/templates/row_schedule.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace {

/// Limit of partial sums that one thread adds up.
constexpr std::int64_t kMaxParts = 32;

/// Returns the largest power of two, at most `limit`, that divides the extent.
std::int64_t VectorOf(std::int64_t extent, std::int64_t limit) {
  std::int64_t lanes = 1;
  while (lanes * 2 <= limit && extent % (lanes * 2) == 0) lanes *= 2;
  return lanes;
}

/// Returns the elements that one access of a thread reads or writes.
std::int64_t LanesOf(const Schedule& s, StageId stage, LoopId innermost, std::int64_t limit) {
  const ComputeOp& op = s.stage(stage).op;
  return HasUniformConditions(op) ? VectorOf(s.Extent(innermost), limit) : 1;
}

/// Reduction axis in equal parts, one for each thread.
struct RankFactor {
  int axis = 0;
  std::int64_t count = 1;
};

/// Returns the longest reduction axis, the last one of equals, in about `threads` parts; in one
/// part if its extent has no such divisor and is too long for one thread for each element.
RankFactor RankFactorOf(const ComputeOp& op, std::int64_t threads) {
  constexpr std::int64_t kMaxOfOneElement = 256;
  RankFactor parts;
  std::int64_t extent = 0;
  for (std::size_t i = 0; i < op.reduce_axes.size(); ++i) {
    if (op.reduce_axes[i].extent < extent) continue;
    extent = op.reduce_axes[i].extent;
    parts.axis = static_cast<int>(i);
  }
  if (extent < 2 || threads < 2) return parts;
  parts.count = LargestDivisor(extent, threads);
  const std::int64_t wanted = std::min(extent, threads);
  if (4 * parts.count < wanted && extent <= kMaxOfOneElement) parts.count = extent;
  return parts;
}

/// Splits `sum` into stages of partial sums, those of more threads first; returns none if it is
/// short.
std::vector<StageId> FactorSum(Schedule& s, StageId sum, std::int64_t threads) {
  const RankFactor parts = RankFactorOf(s.stage(sum).op, threads);
  std::vector<StageId> partial;
  if (parts.count == 1) return partial;
  partial.push_back(s.RFactor(sum, parts.axis, parts.count));
  if (parts.count <= kMaxParts) return partial;
  const std::int64_t fewer = LargestDivisor(parts.count, kMaxParts);
  if (fewer > 1) {
    const int rest = static_cast<int>(s.stage(sum).op.reduce_axes.size()) - 1;
    partial.push_back(s.RFactor(sum, rest, fewer));
  }
  return partial;
}

/// Distributes one element or some to each thread, neighbours to neighbouring threads. Returns the
/// innermost loop except that of a vector; index -1 for a single number.
LoopId DistributeElements(Schedule& s, StageId stage, const GridChoices& choices) {
  std::vector<LoopId> outer = s.Leaves(stage);
  outer.resize(std::min(s.stage(stage).op.axes.size(), outer.size()));
  if (outer.empty()) return {};
  const std::int64_t lanes = LanesOf(s, stage, outer.back(), choices.vector);
  LoopId lane;
  if (lanes > 1) std::tie(outer.back(), lane) = s.Split(stage, outer.back(), lanes);
  const auto [rest, thread] = s.Split(stage, FuseAll(s, stage, outer), choices.threads);
  const auto [block, element] = s.Split(stage, rest, choices.elements);
  std::vector<LoopId> order = {block, thread, element};
  if (lane.index >= 0) order.push_back(lane);
  s.Reorder(stage, order);
  s.Bind(stage, block, LoopKind::kBlockX);
  s.Bind(stage, thread, LoopKind::kThreadX);
  if (lane.index >= 0) s.Vectorize(stage, lane);
  return element;
}

/// Sums in registers, and the stage that reads them.
struct SumsOfWriter {
  StageId writer;
  std::vector<StageId> sums;
};

/// Moves sums into the stages that follow them, or into copies of theirs.
std::vector<SumsOfWriter> FindSums(Schedule& s, const std::vector<StageId>& done) {
  std::vector<SumsOfWriter> found;
  const std::vector<StageId> order = s.order();
  for (const StageId id : order) {
    const Schedule::StageInfo& stage = s.stage(id);
    if (stage.op.combiner == Combiner::kNone || stage.attach != Schedule::Attach::kRoot) continue;
    if (std::ranges::find(done, id) != done.end()) continue;
    StageId writer = OnlyConsumer(s, stage.op.output);
    StageId sum = id;
    const bool free = writer.index >= 0 && std::ranges::find(done, writer) == done.end() &&
                      s.stage(writer).attach == Schedule::Attach::kRoot;
    if (free) {
      s.SetScope(id, Scope::kLocal);
    } else {
      sum = s.CacheWrite(id, Scope::kLocal);
      writer = id;
    }
    const auto known = std::ranges::find(found, writer, &SumsOfWriter::writer);
    if (known == found.end()) {
      found.push_back({writer, {sum}});
    } else {
      known->sums.push_back(sum);
    }
  }
  return found;
}

/// Gives each thread of a row a part of each sum, with some rows in a block. dealt: receives the
/// launches.
void DistributeSums(Schedule& s, const SumsOfWriter& sums, const GridChoices& choices,
                    std::vector<StageId>& dealt) {
  const StageId writer = sums.writer;
  dealt.push_back(writer);
  std::vector<std::vector<StageId>> partial;
  bool shared = false;
  std::int64_t row_threads = choices.row_threads;  // sums with few divisors have more parts
  for (const StageId sum : sums.sums) {
    partial.push_back(FactorSum(s, sum, choices.row_threads));
    for (const StageId part : partial.back()) {
      const int last = static_cast<int>(s.stage(part).op.axes.size()) - 1;
      row_threads = std::max(row_threads, s.Extent(s.SpatialAxis(part, last)));
      shared = true;
    }
  }
  std::vector<LoopId> axes = s.Leaves(writer);
  axes.resize(std::min(s.stage(writer).op.axes.size(), axes.size()));
  if (!shared || axes.empty()) {
    const LoopId element = DistributeElements(s, writer, {.threads = choices.threads});
    for (std::size_t i = 0; i < sums.sums.size(); ++i) {
      if (element.index >= 0) {
        s.ComputeAt(sums.sums[i], writer, element);
      } else {
        s.SetScope(sums.sums[i],
                   Scope::kGlobal);  // the sum of a single number is a separate launch
      }
      // The parts of a single number are separate launches.
      for (const StageId part : partial[i]) {
        const StageId own = s.CacheWrite(part, Scope::kLocal);
        s.ComputeAt(own, part, DistributeElements(s, part, {.threads = choices.threads}));
        dealt.push_back(part);
      }
    }
    return;
  }
  const std::int64_t rows = LargestDivisor(
      s.Extent(axes.back()), std::max<std::int64_t>(1, choices.threads / row_threads));
  const auto [outer, row] = s.Split(writer, axes.back(), rows);
  axes.back() = outer;
  s.Bind(writer, FuseAll(s, writer, axes), LoopKind::kBlockX);
  s.Bind(writer, row, LoopKind::kThreadY);
  for (std::size_t i = 0; i < sums.sums.size(); ++i) {
    s.ComputeAt(sums.sums[i], writer, row);
    std::ranges::reverse(partial[i]);  // readers are placed before the stages that they read
    for (const StageId part : partial[i]) {
      const StageId own = s.CacheWrite(part, Scope::kLocal);
      s.SetScope(part, Scope::kShared);
      const int last = static_cast<int>(s.stage(part).op.axes.size()) - 1;
      const LoopId thread = s.SpatialAxis(part, last);
      s.Bind(part, s.SpatialAxis(part, last - 1), LoopKind::kThreadY);
      s.Bind(part, thread, LoopKind::kThreadX);
      s.ComputeAt(part, writer, row);
      s.ComputeAt(own, part, thread);
    }
  }
}

/// Loops of a stage that goes row by row.
struct RowLoops {
  LoopId row;     ///< over the rows of a block; index -1 where the stage has no such axis
  LoopId thread;  ///< over the threads of a row, innermost but for a vector
};

/// Distributes `count` rows to a block and the elements of each over row_threads threads.
/// writes: the stage is the result, whose other rows are other blocks; a stage in shared memory has
/// no other rows.
RowLoops DistributeRow(Schedule& s, StageId stage, const RowAxes& rows, std::int64_t count,
                       const GridChoices& choices, bool writes) {
  RowLoops loops;
  std::vector<LoopId> outer, elements;
  const int axes = static_cast<int>(s.stage(stage).op.axes.size());
  LoopId last;
  for (int i = 0; i < axes; ++i) {
    const LoopId axis = s.SpatialAxis(stage, i);
    if (i == rows.back()) {
      last = axis;
    } else {
      (std::ranges::find(rows, i) != rows.end() ? outer : elements).push_back(axis);
    }
  }
  if (writes) {
    std::tie(last, loops.row) = s.Split(stage, last, count);
    outer.push_back(last);
  } else {
    loops.row = last;
  }
  std::vector<LoopId> order = outer;
  if (loops.row.index >= 0) order.push_back(loops.row);
  LoopId lane;
  if (s.stage(stage).op.combiner == Combiner::kNone && !elements.empty()) {
    const std::int64_t lanes = LanesOf(s, stage, elements.back(), choices.vector);
    if (lanes > 1) std::tie(elements.back(), lane) = s.Split(stage, elements.back(), lanes);
  }
  order.insert(order.end(), elements.begin(), elements.end());
  if (lane.index >= 0) order.push_back(lane);
  s.Reorder(stage, order);
  const LoopId fused = FuseAll(s, stage, elements);
  LoopId step;
  std::tie(step, loops.thread) = s.Split(stage, fused, choices.row_threads);
  s.Bind(stage, loops.thread, LoopKind::kThreadX);
  if (lane.index >= 0) s.Vectorize(stage, lane);
  if (loops.row.index >= 0) s.Bind(stage, loops.row, LoopKind::kThreadY);
  if (writes) s.Bind(stage, FuseAll(s, stage, outer), LoopKind::kBlockX);
  return loops;
}

/// Schedules with the last `inside` axes of the result as rows.
std::optional<Schedule> RowsInBlocks(Schedule s, int inside, const GridChoices& choices) {
  const StageId result = s.order().back();
  const std::vector<std::int64_t> shape = s.stage(result).op.output->shape;
  const auto own_rows = shape.end() - inside;
  const std::int64_t length = Product({own_rows, shape.end()});
  const std::int64_t rows = Product(shape) / length;
  if (length < 2 || length > kLongestRow) return std::nullopt;
  if (!HasNumberPerRow(s, rows)) return std::nullopt;
  InlineRows(s);
  const std::vector<StageId> before = s.order();
  for (const StageId id : before) {
    const ComputeOp& op = s.stage(id).op;
    const bool number = op.combiner != Combiner::kNone && op.output->elements() <= rows;
    if (number) FactorSum(s, id, choices.row_threads);
  }
  std::vector<StageId> order = s.order();
  std::erase_if(order, [&](StageId id) { return s.stage(id).attach == Schedule::Attach::kInline; });
  RowFinder finder(s, order, inside);
  if (!finder.Find()) return std::nullopt;
  std::map<int, std::int64_t> elements;  // elements of a row, by stage, before any split
  for (const StageId id : order) {
    elements[id.index] = finder.ElementsOfRow(id);
    if (elements[id.index] > kLongestRow) return std::nullopt;
  }
  const auto is_own = [&](StageId id, std::int64_t count) {  // every thread has its own
    return elements[id.index] == 1 && (count == 1 || finder.Of(id).back() < 0);
  };
  const auto shared_bytes = [&](std::int64_t count) {
    std::int64_t bytes = 0;
    for (const StageId id : order) {
      if (id == result || is_own(id, count)) continue;
      const std::int64_t element = s.stage(id).op.output->dtype.bytes();
      bytes += RoundUp(count * elements[id.index] * element, kSharedAlignment);
    }
    return bytes;
  };
  std::int64_t count = LargestDivisor(
      *(own_rows - 1), std::max<std::int64_t>(1, choices.threads / choices.row_threads));
  while (count > 1 && shared_bytes(count) > choices.shared_bytes) {
    count = LargestDivisor(*(own_rows - 1), count - 1);
  }
  if (shared_bytes(count) > choices.shared_bytes) return std::nullopt;
  const LoopId row = DistributeRow(s, result, finder.Of(result), count, choices, true).row;
  for (std::size_t i = order.size() - 1;
       i-- > 0;) {  // readers are placed before the stages that they read
    const StageId id = order[i];
    const RowAxes& axes = finder.Of(id);
    const bool number = elements[id.index] == 1;
    if (is_own(id, count)) {
      s.SetScope(id, Scope::kLocal);
      s.ComputeAt(id, result, row);
      continue;
    }
    const bool sums = s.stage(id).op.combiner != Combiner::kNone;
    const StageId own = sums ? s.CacheWrite(id, Scope::kLocal) : StageId();
    s.SetScope(id, Scope::kShared);
    s.ComputeAt(id, result, row);
    LoopId thread;
    if (number) {  // the first thread of the row writes it for the others
      thread = s.SpatialAxis(id, axes.back());
      s.Bind(id, thread, LoopKind::kThreadY);
    } else {
      thread = DistributeRow(s, id, axes, count, choices, false).thread;
    }
    if (sums) s.ComputeAt(own, id, thread);
  }
  if (!s.status().ok()) return std::nullopt;
  return s;
}

}  // namespace

bool HasUniformConditions(const ComputeOp& op) {
  if (op.axes.empty()) return true;
  const Expr& lane = op.axes.back().var;
  const auto loads = [](const Expr& expr) { return HasKind(expr, ExprKind::kLoad); };
  return !AnyNode(op.body, [&](const Expr& node) {
    if (node->kind != ExprKind::kSelect) return false;
    const bool differs = loads(node->args[0]) || Contains(node->args[0], lane);
    return differs && (loads(node->args[1]) || loads(node->args[2]));
  });
}

void DistributeStages(Schedule& s, const std::vector<StageId>& done, const GridChoices& choices) {
  std::vector<StageId> dealt = done;
  for (const SumsOfWriter& sums : FindSums(s, done)) DistributeSums(s, sums, choices, dealt);
  const std::vector<StageId> order = s.order();
  for (const StageId id : order) {
    const Schedule::StageInfo& stage = s.stage(id);
    if (stage.attach != Schedule::Attach::kRoot || stage.op.combiner != Combiner::kNone) continue;
    if (std::ranges::find(dealt, id) == dealt.end()) DistributeElements(s, id, choices);
  }
}

std::optional<Schedule> RowsOfBlocks(const Schedule& schedule, const GridChoices& choices) {
  const ComputeOp& whole = schedule.stage(schedule.order().back()).op;
  if (whole.combiner != Combiner::kNone) return std::nullopt;
  for (int inside = 1; inside < static_cast<int>(whole.axes.size()); ++inside) {
    if (auto rows = RowsInBlocks(schedule, inside, choices)) return rows;
  }
  return std::nullopt;
}

}  // namespace tilewright
