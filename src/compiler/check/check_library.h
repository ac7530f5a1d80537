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

/// Runs a newly made library on synthetic inputs, with each result poisoned before it is written.
/// All elements of all results must be written. Sampled elements must equal the reference's,
/// evaluated on the operands in memory; the first operator of each kernel gets more samples.
///
/// options: of the plan. set: the plan's shape variant in the library. After
/// options.check_seconds of the reference evaluator no more elements are compared; the run itself
/// does not count. With an open dimension, several sizes are checked. The result names kernels that
/// were not compared. progress: gets the kernel that runs. Errors: kInternal naming the operator
/// that differs or leaves elements unwritten; kUnsupported if the library cannot run here; those of
/// a run.
Result<CompileCheck> CheckBySample(const Plan& plan, const CompileOptions& options,
                                   const std::string& library_path, int set,
                                   CheckProgress& progress);

/// Checks without a run that the code of every kernel writes all of its result.
/// Errors: kInternal naming a kernel that does not.
Result<CompileCheck> CheckByCode(const Plan& plan);

}  // namespace tilewright
