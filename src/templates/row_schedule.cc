// The rows of the result are all its axes but the last ones. From them the row axes of each stage
// follow backwards: where a stage reads another one at its own row, the other one has the same
// rows.

#include "src/templates/row_schedule.h"

#include <algorithm>
#include <vector>

#include "src/ir/visit.h"
#include "src/schedule/check.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace {

bool IsInline(const Schedule& s, StageId id) {
  return s.stage(id).attach == Schedule::Attach::kInline;
}

}  // namespace

void InlineRows(Schedule& schedule) {
  const std::vector<StageId> order = schedule.order();
  const std::int64_t whole = schedule.stage(order.back()).op.output->elements();
  for (const StageId id : order) {
    const ComputeOp& op = schedule.stage(id).op;
    if (id == order.back() || op.combiner != Combiner::kNone) continue;
    const bool cheap = op.output->elements() == whole && !HasKind(op.body, ExprKind::kCall);
    if (cheap && !FeedsArgReduction(schedule, id)) schedule.ComputeInline(id);
  }
}

bool RowFinder::Find() {
  const StageId result = stages_.back();
  const std::vector<Axis>& axes = schedule_.stage(result).op.axes;
  RowAxes rows;
  for (int i = 0; i + inside_ < static_cast<int>(axes.size()); ++i) {
    rows.push_back(i);
    extents_.push_back(axes[static_cast<std::size_t>(i)].extent);
  }
  rows_[result.index] = std::move(rows);
  for (std::size_t i = stages_.size(); i-- > 0;) {
    if (!rows_.contains(stages_[i].index) || !Follow(stages_[i])) return false;
  }
  return true;
}

bool RowFinder::Follow(StageId reader) {
  bool follows = true;
  ForEachNode(schedule_.stage(reader).op.body, [&](const Expr& node) {
    if (!follows || node->kind != ExprKind::kLoad) return;
    const StageId producer = schedule_.ProducerOf(node->buffer);
    if (std::ranges::find(stages_, producer) == stages_.end()) return;
    follows = FollowLoad(reader, producer, node->args);
  });
  return follows;
}

bool RowFinder::FollowLoad(StageId reader, StageId producer, const std::vector<Expr>& index) {
  const RowAxes own = rows_.at(reader.index);
  RowAxes rows;
  for (std::size_t d = 0; d < own.size(); ++d) {
    if (own[d] < 0) {
      rows.push_back(-1);
      continue;
    }
    const Expr& var = schedule_.stage(reader).op.axes[static_cast<std::size_t>(own[d])].var;
    int place = -1;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i].Same(var) && place < 0) {
        place = static_cast<int>(i);
      } else if (Contains(index[i], var)) {
        return false;
      }
    }
    if (place < 0 && extents_[d] > 1) return false;
    rows.push_back(place);
  }
  const auto [known, added] = rows_.emplace(producer.index, rows);
  return added || known->second == rows;
}

std::int64_t RowFinder::ElementsOfRow(StageId stage) const {
  const std::vector<Axis>& axes = schedule_.stage(stage).op.axes;
  const RowAxes& rows = Of(stage);
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (std::ranges::find(rows, static_cast<int>(i)) == rows.end()) elements *= axes[i].extent;
  }
  return elements;
}

namespace {

/// Elements of the steps into which `extent` is cut: this many vectors without a tail, or one.
std::int64_t VectorGroupsOf(std::int64_t extent, std::int64_t lanes, std::int64_t vectors) {
  for (std::int64_t width = lanes; width > 1 && 2 * width >= lanes; width /= 2) {
    for (std::int64_t count = vectors; count > 0; --count) {
      if (extent % (count * width) == 0 && extent > count * width) return count * width;
    }
  }
  const std::int64_t divisor = LargestDivisor(extent, lanes);
  if (2 * divisor > lanes) return divisor;
  return lanes * (extent >= 4 * vectors * lanes ? vectors : 1);
}

}  // namespace

void SumInLanes(Schedule& schedule, std::int64_t lanes, std::int64_t rows, std::int64_t vectors) {
  const std::vector<StageId> order = schedule.order();
  for (const StageId id : order) {
    const ComputeOp& op = schedule.stage(id).op;
    if (op.combiner == Combiner::kNone || op.reduce_axes.empty()) continue;
    if (op.output->elements() > rows) continue;
    const int last = static_cast<int>(op.reduce_axes.size()) - 1;
    const std::int64_t extent = op.reduce_axes.back().extent;
    std::int64_t parts = extent;
    if (extent > lanes) {
      parts = VectorGroupsOf(extent, lanes, vectors);
    } else if (extent < 4 || lanes % extent != 0) {
      continue;
    }
    if (extent > lanes || last > 0) schedule.RFactor(id, last, parts);
    // Combine whole vectors first: lane after lane, each would wait for the one before.
    if (parts > lanes) {
      parts = parts % lanes == 0 ? lanes : lanes / 2;
      schedule.RFactor(id, 0, parts);
    }
    for (; parts > 2 && parts % 2 == 0; parts /= 2) schedule.RFactor(id, 0, parts / 2);
  }
}

void ScheduleInRow(Schedule& s, StageId stage, const RowAxes& rows, std::int64_t lanes) {
  const ComputeOp& op = s.stage(stage).op;
  std::vector<LoopId> order, elements;
  for (int i = 0; i < static_cast<int>(op.axes.size()); ++i) {
    const bool row = std::ranges::find(rows, i) != rows.end();
    (row ? order : elements).push_back(s.SpatialAxis(stage, i));
  }
  for (int i = 0; i < static_cast<int>(op.reduce_axes.size()); ++i) {
    order.push_back(s.ReductionAxis(stage, i));
  }
  if (elements.empty() || s.Extent(elements.back()) == 1) return;
  LoopId lane = elements.back();
  elements.pop_back();
  const std::int64_t extent = s.Extent(lane);
  // A few vectors of sums stay in registers while the loop passes over the row once.
  const bool sums = op.combiner != Combiner::kNone && op.reduce_axes.back().extent > 2;
  const std::int64_t width = extent % lanes == 0 ? lanes : lanes / 2;
  if (sums && extent > lanes && extent % width == 0 && extent / width <= kMaxVectorsOfSums) {
    const auto [vector, inner] = s.Split(stage, lane, width, Tail::kPeel);
    order.push_back(vector);
    s.Unroll(stage, vector);
    lane = inner;
  } else if (sums && extent <= lanes && !elements.empty()) {
    LoopId vector = elements.back();
    elements.pop_back();
    if (s.Extent(vector) > kMaxVectorsOfSums) {
      constexpr std::int64_t kFewVectors = 3;
      const std::int64_t divisor = LargestDivisor(s.Extent(vector), kMaxVectorsOfSums);
      const auto [chunk, inner] = s.Split(
          stage, vector, divisor >= kFewVectors ? divisor : kMaxVectorsOfSums - 1, Tail::kPeel);
      elements.push_back(chunk);
      vector = inner;
    }
    order.push_back(vector);
    s.Unroll(stage, vector);
  } else if (extent > lanes) {
    const auto [chunk, inner] = s.Split(stage, lane, lanes, Tail::kPeel);
    elements.push_back(chunk);
    lane = inner;
  }
  order.insert(
      order.begin() + static_cast<std::ptrdiff_t>(rows.size() - std::ranges::count(rows, -1)),
      elements.begin(), elements.end());
  order.push_back(lane);
  s.Reorder(stage, order);
  s.Vectorize(stage, lane);
}

bool HasNumberPerRow(const Schedule& schedule, std::int64_t rows) {
  return std::ranges::any_of(schedule.stages(), [&](const Schedule::StageInfo& stage) {
    return stage.op.combiner != Combiner::kNone && stage.op.output->elements() == rows;
  });
}

namespace {

/// Whether the threads are as busy with whole rows as with parts of rows. A row that is longer than
/// a private cache causes the same memory traffic in both cases.
bool RowsKeepThreadsBusy(std::int64_t rows, std::int64_t length, const Target& target) {
  constexpr std::int64_t kRowsPerThread = 8;  // the last round of rows costs at most an eighth
  const std::int64_t threads = target.num_threads();
  if (length <= kLongestRow) return rows >= threads;
  return rows % threads == 0 || rows >= kRowsPerThread * threads;
}

/// Rows up to this size are local, regardless of the others.
constexpr std::int64_t kShortRowBytes = 512;

/// Bytes of a row of a stage.
std::int64_t BytesOfRow(const Schedule& schedule, const RowFinder& finder, StageId id) {
  return finder.ElementsOfRow(id) * schedule.stage(id).op.output->dtype.bytes();
}

/// Elements of a row that leaves the nearest cache before it has been read twice.
constexpr std::int64_t kLongRow = 4096;

/// Computes a stage block by block in the loop of the one reduction that reads it, which then reads
/// it from the nearest cache. The stages that read the whole row run later.
void MakeInSums(Schedule& s, StageId id) {
  const ComputeOp& op = s.stage(id).op;
  if (op.combiner != Combiner::kNone) return;
  std::vector<StageId> sums;
  for (const StageId reader : s.order()) {
    const Schedule::StageInfo& info = s.stage(reader);
    const bool reads = std::ranges::any_of(
        info.loads, [&](const ExprNode* load) { return load->buffer == op.output; });
    if (reads && info.op.combiner != Combiner::kNone) sums.push_back(reader);
  }
  if (sums.size() != 1 || s.stage(sums[0]).attach != Schedule::Attach::kAt) return;
  const Schedule::StageInfo& sum = s.stage(sums[0]);
  std::int64_t terms = sum.op.output->elements();
  for (const Axis& axis : sum.op.reduce_axes) terms *= axis.extent;
  if (terms != op.output->elements()) return;  // blocks that reach beyond the end
  LoopId block;
  for (const LoopId leaf : sum.leaves) {
    if (s.loop(leaf).reduction) break;
    block = leaf;
  }
  const bool divides = std::ranges::all_of(sum.relations, [&](const Schedule::Relation& split) {
    return s.Extent(split.parent) % split.factor == 0;
  });
  if (block.index < 0 || s.Extent(block) < 2 || !divides) return;
  // A stage that reads it before the sum would find nothing.
  const auto place = [&](StageId stage) { return std::ranges::find(s.order(), stage); };
  for (const StageId reader : s.order()) {
    if (IsInline(s, reader) || place(reader) >= place(sums[0])) continue;
    const bool reads = std::ranges::any_of(
        s.stage(reader).loads, [&](const ExprNode* load) { return load->buffer == op.output; });
    if (reads) return;
  }
  s.ComputeAt(id, sums[0], block);
  s.Keep(id);
}

/// Schedules with the last `inside` axes of the result as rows.
std::optional<Schedule> ScheduleRows(Schedule schedule, int inside, std::int64_t lanes,
                                     const Target& target) {
  const StageId result = schedule.order().back();
  const ComputeOp& whole = schedule.stage(result).op;
  std::int64_t length = 1;
  for (int i = 0; i < inside; ++i) length *= (whole.axes.end() - 1 - i)->extent;
  const std::int64_t rows = whole.output->elements() / length;
  if (length < 2 || !RowsKeepThreadsBusy(rows, length, target)) return std::nullopt;
  if (inside > 1 && !HasNumberPerRow(schedule, rows)) return std::nullopt;
  InlineRows(schedule);
  SumInLanes(schedule, lanes, rows, kMaxVectorsOfSums);
  std::vector<StageId> order = schedule.order();
  std::erase_if(order, [&](StageId id) { return IsInline(schedule, id); });
  RowFinder finder(schedule, order, inside);
  if (!finder.Find()) return std::nullopt;

  bool reduces = false;
  std::int64_t row_bytes = 0;  // of the buffers of one row
  for (const StageId id : order) {
    const ComputeOp& op = schedule.stage(id).op;
    // Windows of a few elements, such as those of a pool in blocks, are not sums of rows.
    constexpr std::int64_t kLongestWindow = 32;
    std::int64_t window = 1;
    for (const Axis& axis : op.reduce_axes) window *= axis.extent;
    const bool beside = finder.ElementsOfRow(id) >= length && window <= kLongestWindow;
    reduces = reduces || (op.combiner != Combiner::kNone && !beside);
    // A stage with more elements than the row of the result does not work on rows alone.
    if (finder.ElementsOfRow(id) > std::max(length, kLongestRow)) return std::nullopt;
    if (id != result) row_bytes += BytesOfRow(schedule, finder, id);
  }
  if (!reduces) return std::nullopt;
  // Long rows are in memory of their thread, which has no limit of size.
  const bool fits = row_bytes <= LowerLimits().max_local_bytes;

  std::vector<LoopId> outer;
  for (int i = 0; i < static_cast<int>(finder.Of(result).size()); ++i) {
    outer.push_back(schedule.SpatialAxis(result, i));
  }
  ScheduleInRow(schedule, result, finder.Of(result), lanes);
  const LoopId row = FuseAll(schedule, result, outer);
  ParallelFor(schedule, result, row, target);
  for (std::size_t i = order.size() - 1;
       i-- > 0;) {  // each is in the row before the stages that it reads
    const StageId id = order[i];
    if (fits || BytesOfRow(schedule, finder, id) <= kShortRowBytes) {
      schedule.SetScope(id, Scope::kLocal);
    }
    schedule.ComputeAt(id, result, row);
    ScheduleInRow(schedule, id, finder.Of(id), lanes);
    if (length >= kLongRow) MakeInSums(schedule, id);
  }
  if (!schedule.status().ok()) return std::nullopt;
  return schedule;
}

}  // namespace

std::optional<Schedule> RowSchedule(const Schedule& schedule, std::int64_t lanes,
                                    const Target& target) {
  const ComputeOp& whole = schedule.stage(schedule.order().back()).op;
  if (whole.combiner != Combiner::kNone) return std::nullopt;
  for (int inside = 1; inside < static_cast<int>(whole.axes.size()); ++inside) {
    if (auto rows = ScheduleRows(schedule, inside, lanes, target)) return rows;
  }
  return std::nullopt;
}

}  // namespace tilewright
