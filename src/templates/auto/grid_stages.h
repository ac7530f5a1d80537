#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/schedule/launch.h"
#include "src/schedule/schedule.h"

namespace tilewright {

/// Distribution of stages over blocks and threads of a GPU.
struct GridChoices {
  std::int64_t threads = 256;    ///< of a block
  std::int64_t elements = 1;     ///< of a thread, computed one after the other
  std::int64_t vector = 1;       ///< neighbours that one access writes, for each element
  std::int64_t row_threads = 1;  ///< that share a sum; their parts are added up in shared memory
  std::int64_t shared_bytes = kStaticSharedBytes;  ///< limit for a block
};

/// Whether neighbours along the innermost axis are read under the same conditions, or without any.
/// Vectors whose lanes have different conditions are read element by element.
bool HasUniformConditions(const ComputeOp& op);

/// Makes every stage that is not computed inside another one, except `done`, a launch, and
/// distributes its elements over blocks and threads. Sums are computed in registers, inside the
/// elementwise stage that follows them, if any; long ones by several threads.
/// schedule: without splits, its cheap stages inlined.
void DistributeStages(Schedule& schedule, const std::vector<StageId>& done,
                      const GridChoices& choices);

/// Schedules a computation that goes row by row of its result (softmax, normalization, and the
/// elementwise stages around them) as one launch. `row_threads` threads share a row. A block has
/// `threads` threads, or fewer if the parts of rows that several of them read would not fit shared
/// memory.
/// schedule: without any primitive applied. Returns nothing if the computation does not go row by
/// row, or one row does not fit.
std::optional<Schedule> RowsOfBlocks(const Schedule& schedule, const GridChoices& choices);

}  // namespace tilewright
