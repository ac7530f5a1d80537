#pragma once

#include <string>

#include "src/ir/stmt.h"
#include "src/schedule/launch.h"
#include "src/schedule/schedule.h"

namespace tilewright {

struct LowerLimits {
  std::int64_t max_local_bytes = 64 * 1024;  ///< of kLocal buffers of one thread
  std::int64_t max_statements = 200'000;     ///< after unrolling, as an estimate
  std::int64_t max_workspace_bytes = std::int64_t{1} << 32;
  LaunchLimits launch = {};  ///< of each launch if loops are bound to a GPU
};

/// Lowers a scheduled computation to loops: infers bounds, places guards, peels tails. If loops are
/// bound to a GPU, each root stage becomes a launch (src/schedule/launch.h) with one loop per
/// index, interleaved virtual threads and barriers. Parameters of the program: the Compute's inputs
/// in order, then the last stage's output. Errors: the schedule's first error; kInvalidArgument
/// with the numbers if a limit is exceeded.
Result<Program> Lower(const Schedule& schedule, std::string name, const LowerLimits& limits = {});

}  // namespace tilewright
