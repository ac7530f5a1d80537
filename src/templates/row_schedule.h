#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

/// Schedules a computation that goes row by row of its result (softmax, normalization over the last
/// axes, and the elementwise stages around them) as one loop over rows, which threads share. Every
/// stage is computed in the loop, into a buffer of one row, with vectors along the row. Sums and
/// maxima of a row have as many parts as a vector has lanes.
/// schedule: without any primitive applied. Returns nothing if the computation does not go row by
/// row.
std::optional<Schedule> RowSchedule(const Schedule& schedule, std::int64_t lanes,
                                    const Target& target);

// Parts of RowSchedule, for computations of which some stages go row by row.

/// Elements of the longest buffer that fits a private cache.
inline constexpr std::int64_t kLongestRow = 1 << 15;

/// For each row axis of the last stage: the corresponding axis of a stage; -1 if it has one
/// iteration and the stage lacks it.
using RowAxes = std::vector<int>;

/// Search for the rows of stages.
class RowFinder {
 public:
  /// stages: the stages of the computation, each after the stages that it reads. schedule: outlives
  /// this. inside: number of trailing axes of the last stage that are not rows.
  RowFinder(const Schedule& schedule, std::vector<StageId> stages, int inside = 1)
      : schedule_(schedule), stages_(std::move(stages)), inside_(inside) {}
  /// Finds the rows, which are all axes of the last stage but the last ones. Returns false if a
  /// stage reads rows other than its own, or no stage reads it.
  bool Find();
  const RowAxes& Of(StageId stage) const { return rows_.at(stage.index); }
  /// Elements of one row of a stage.
  std::int64_t ElementsOfRow(StageId stage) const;

 private:
  bool Follow(StageId reader);
  bool FollowLoad(StageId reader, StageId producer, const std::vector<Expr>& index);

  const Schedule& schedule_;
  std::vector<StageId> stages_;
  int inside_;
  std::vector<std::int64_t> extents_;
  std::map<int, RowAxes> rows_;  // by stage
};

/// Inlines cheap stages along the row. Keeps those with one element for each row, which would be
/// computed again for each element.
void InlineRows(Schedule& schedule);
/// Whether a stage computes one number for each of this many rows.
bool HasNumberPerRow(const Schedule& schedule, std::int64_t rows);
/// Vectors of sums that ScheduleInRow keeps in registers.
inline constexpr std::int64_t kMaxVectorsOfSums = 5;
/// Splits reductions to one number for each of `rows` rows (or fewer) into up to `vectors` vectors
/// of partial results, and combines those by halves.
void SumInLanes(Schedule& schedule, std::int64_t lanes, std::int64_t rows, std::int64_t vectors);
/// Orders the loops of a stage inside a row: rows, reductions, then the elements in vectors.
void ScheduleInRow(Schedule& schedule, StageId stage, const RowAxes& rows, std::int64_t lanes);

}  // namespace tilewright
