#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/schedule/launch.h"
#include "src/schedule/schedule.h"

namespace tilewright {

/// How stages are dealt to blocks and threads of a GPU.
struct GridChoices {
  std::int64_t threads = 256;    ///< of a block
  std::int64_t elements = 1;     ///< of a thread, one after the other
  std::int64_t vector = 1;       ///< neighbours of each of those that are written in one access
  std::int64_t row_threads = 1;  ///< that share a sum, each its part, which meet in shared memory
  std::int64_t shared_bytes = kStaticSharedBytes;  ///< that a block may have
};

/// Whether neighbours along the innermost axis are read under the same conditions, or none: vectors
/// with lanes of their own conditions are read element by element.
bool HasUniformConditions(const ComputeOp& op);

/// Every stage that is not computed inside of another one, but for `done`, becomes a launch: its
/// axes as one, dealt to blocks and threads. Sums are made in registers, inside of the stage that
/// follows them element by element where there is one; long ones by several threads. Takes stages
/// whose cheap ones are inlined, before any split.
void DistributeStages(Schedule& schedule, const std::vector<StageId>& done,
                      const GridChoices& choices);

/// A computation that goes row by row of its result (softmax, normalization, and what is
/// elementwise around them) as one launch: `row_threads` threads share a row, `threads` those of a
/// block, or fewer where what several of them read of a row, which is in shared memory, would not
/// fit. Takes a schedule without any decision yet; nothing if the computation is none such, or one
/// row does not fit.
std::optional<Schedule> RowsOfBlocks(const Schedule& schedule, const GridChoices& choices);

}  // namespace tilewright
