#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/options/report.h"
#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Runs a library that was just made of a plan on made-up inputs, each result poisoned before it is
/// written: all elements of all results must be written, and sampled ones must be what the
/// reference says of the operands that lie in memory: more of the first operator of each kernel.
///
/// set: of the library's sets of sizes, the plan's. seconds: of the reference, after which no more
/// elements are compared; what the run takes is not counted. What was not compared is named in the
/// result. progress: told which kernel runs. Errors: kInternal naming the operator that leaves
/// something unwritten, or differs; kUnsupported if the library cannot be run here; those of a run.
Result<CompileCheck> CheckBySample(const Plan& plan, const std::string& library_path, int set,
                                   double seconds, CheckProgress& progress);

/// Without running: that the code of every kernel writes all of its result.
/// Errors: kInternal naming a kernel that does not.
Result<CompileCheck> CheckByCode(const Plan& plan);

}  // namespace tilewright
