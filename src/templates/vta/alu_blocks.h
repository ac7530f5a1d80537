#pragma once

#include <functional>

#include "src/space/config.h"
#include "src/templates/registry.h"
#include "src/templates/vta/alu_epilogue.h"
#include "src/tensor/workload.h"

namespace tilewright {

// Parts of the templates of VTA operators without products, which have the knobs of AutoTVM's
// `add.vta` over the result.

/// Returns the sizes of the result in blocks. op: the operator of the template.
/// Errors: kUnsupported with the operation that the ALU lacks.
Result<vta::ResultBlocks> AluResultOf(const vta::Design& design, const Workload& workload,
                                      OpKind op);

/// Documentation of the knobs over a result.
inline constexpr KnobDoc kAluKnobs[] = {
    {"tile_co", "Channel blocks of the result: tiles, channel blocks of one tile."},
    {"tile_h", "Rows of the result: tiles, rows of one tile."},
    {"tile_w", "Columns of the result: tiles, columns of one tile."}};
Result<ConfigSpace> AluSpace(const vta::ResultBlocks& result);
/// Returns `result` with the blocks of a config.
vta::ResultBlocks WithBlocks(vta::ResultBlocks result, const Config& config);

/// Returns the config with the largest blocks for which `builds` returns true; of equal ones that
/// with longer rows, since it needs fewer instructions, and fewer rows for the transfers. The first
/// config of the space if there is none.
Config LargestBlocks(const ConfigSpace& space, const vta::ResultBlocks& result,
                     const std::function<bool(const vta::ResultBlocks&)>& builds);

/// Returns the steps of the ALU for a workload without products: its own operation, then the
/// epilogue.
Epilogue AluSteps(const Workload& workload, const Epilogue& epilogue);
/// Returns the operations on the result of any workload, as the ALU executes them.
/// Errors: those of VtaEpilogueOf.
Result<VtaEpilogue> VtaStepsOf(const vta::Design& design, const Workload& workload,
                               const Epilogue& epilogue);

}  // namespace tilewright
