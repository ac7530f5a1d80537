#pragma once

#include "src/base/status.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/options/report.h"
#include "src/compiler/plan/plan.h"
#include "src/compiler/run/run.h"
#include "src/graph/open/positions.h"

namespace tilewright {

/// Checks a library for positions that windows read (PositionNetwork) with several sizes: among
/// them the least, and sizes with large and small blocks alone and with both. All elements of all
/// results must be written, over poison; sampled elements must equal the reference's on the
/// operands in memory. More sizes are checked as long as `seconds` of the reference allow. Errors:
/// as CheckBySample.
Result<CompileCheck> CheckPositions(const PositionNetwork& network, const Plan& plan,
                                    ModelLibrary& library, double seconds, CheckProgress& progress);

}  // namespace tilewright
