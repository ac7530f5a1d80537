#pragma once

#include "src/compiler/plan/vta_plan.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright {

/// Config and stream of a workload, and why they are these: a record's, or, where none serves or
/// its stream cannot be built with this epilogue, the template's default.
/// Errors: kUnsupported with the reason why no stream can be built; those of the stores.
Result<VtaKernel> ChooseVtaKernel(const Workload& workload, const Epilogue& epilogue,
                                  const VtaTarget& vta, const VtaOptions& options);

}  // namespace tilewright
