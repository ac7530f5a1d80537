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
  LaunchLimits launch = {};  ///< of each launch where loops are bound to a GPU
};

/// Loops of the scheduled computation: bounds inferred, guards placed, tails peeled. Where loops
/// are bound to a GPU, each root stage becomes a launch (src/schedule/launch.h): one loop per
/// index, virtual threads interleaved, barriers placed. Parameters of the program: the Compute's
/// inputs in order, then the last stage's output. Errors: the schedule's own refusal;
/// kInvalidArgument where a limit is passed, with the numbers.
Result<Program> Lower(const Schedule& schedule, std::string name, const LowerLimits& limits = {});

}  // namespace tilewright
