#pragma once

#include <functional>

#include "src/space/config.h"
#include "src/templates/vta/alu_epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

// What the templates of VTA operators without products are made of: the knobs tile_co, tile_h and
// tile_w of AutoTVM's `add.vta`, over the result.

/// Sizes of the result in blocks. `op`: the operator that the template serves.
/// Errors: kUnsupported with what the ALU cannot do.
Result<vta::ResultBlocks> AluResultOf(const vta::Design& design, const Workload& workload,
                                      OpKind op);

/// The knobs over a result.
Result<ConfigSpace> AluSpace(const vta::ResultBlocks& result);
/// `result` in the blocks of a config.
vta::ResultBlocks WithBlocks(vta::ResultBlocks result, const Config& config);

/// The config with the largest blocks that `builds` says yes to, of equal ones that with longer
/// rows: fewer instructions, and fewer rows for the transfers. The first one of the space if
/// there is none.
Config LargestBlocks(const ConfigSpace& space, const vta::ResultBlocks& result,
                     const std::function<bool(const vta::ResultBlocks&)>& builds);

/// All that the ALU does for a workload without products: its own operation, then the epilogue.
Epilogue AluSteps(const Workload& workload, const Epilogue& epilogue);
/// The operations on the result of any workload, as the ALU executes them.
/// Errors: those of VtaEpilogueOf.
Result<VtaEpilogue> VtaStepsOf(const vta::Design& design, const Workload& workload,
                               const Epilogue& epilogue);

}  // namespace tilewright
