#pragma once

#include "src/compiler/vta_plan.h"
#include "src/templates/vta_parts.h"

namespace tilewright {

/// Config and stream of a packed convolution, and why they are these: a record's, or, where none
/// serves or its schedule cannot be built with this epilogue, the template's default.
/// Errors: kUnsupported with the reason why no stream can be built; those of the stores.
Result<VtaKernel> ChooseVtaConvolution(const Workload& workload, const Epilogue& epilogue,
                                       const VtaTarget& vta, const VtaOptions& options);

/// The same of a group without a product. AutoTVM's rule has no record of them: it takes a tile at
/// a time; otherwise the largest blocks that fit are taken.
Result<VtaKernel> ChooseVtaAlu(const VtaAluGroup& group, const std::string& workload,
                               const VtaTarget& vta, const VtaOptions& options);

}  // namespace tilewright
