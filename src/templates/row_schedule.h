#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/target/target.h"

namespace tilewright {

/// A computation that goes row by row of its result (softmax, normalization over the last axes, and
/// what is elementwise around them) as one loop over rows, which threads share: every stage is
/// computed in it, into a buffer of one row, with vectors along the row. Sums and maxima of a row
/// are made in as many parts as a vector has lanes. Takes a schedule without any decision yet;
/// nothing if the computation is none such.
std::optional<Schedule> RowSchedule(const Schedule& schedule, std::int64_t lanes,
                                    const Target& target);

// Parts of it, for computations of which some stages go row by row.

/// Buffers of more elements than this are no longer in a near cache.
inline constexpr std::int64_t kLongestRow = 1 << 15;

/// By row axis of the last stage: which axis of a stage it is; -1 where it has one iteration and
/// the stage does without.
using RowAxes = std::vector<int>;

/// Finds the rows of stages.
class RowFinder {
 public:
  /// stages: those to look at, readers behind what they read. schedule outlives this.
  /// inside: how many of the last stage's axes are no rows.
  RowFinder(const Schedule& schedule, std::vector<StageId> stages, int inside = 1)
      : schedule_(schedule), stages_(std::move(stages)), inside_(inside) {}
  /// Rows are all axes of the last stage but the last ones. False where a stage reads other rows
  /// than its own, or none of them reads it.
  bool Find();
  const RowAxes& Of(StageId stage) const { return rows_.at(stage.index); }
  /// Elements of a row that a stage has.
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

/// Cheap stages along the row are computed where they are read. Those of one element per row are
/// kept: they would be computed again for each element.
void InlineRows(Schedule& schedule);
/// Whether some stage makes one number of each of so many rows.
bool HasNumberPerRow(const Schedule& schedule, std::int64_t rows);
/// Vectors of sums that ScheduleInRow keeps in registers.
inline constexpr std::int64_t kMaxVectorsOfSums = 5;
/// Gives reductions to one number for each of `rows` rows (or fewer) up to `vectors` vectors of
/// parts, and combines those by halves.
void SumInLanes(Schedule& schedule, std::int64_t lanes, std::int64_t rows, std::int64_t vectors);
/// The loops of a stage inside a row: rows, reductions, then the elements in vectors.
void ScheduleInRow(Schedule& schedule, StageId stage, const RowAxes& rows, std::int64_t lanes);

}  // namespace tilewright
