#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/kernels/epilogue_writer.h"
#include "src/vta/stream_builder.h"

namespace tilewright::vta {

/// Builds an operator without a product: loads a packed tensor block by block, applies ALU
/// operations, and stores the narrowed result.
///
/// blocks: the result, and the inner extents of AutoTVM's space add.vta (tile_co, tile_h, tile_w).
/// int8_data: the tensor is int8 and widened when loaded; otherwise it is int32.
/// The stream equals the original compiler's, instruction by instruction. Its buffers, after the
/// micro-ops: "data", "output", then one for each tensor operand of the steps. With more than one
/// block a token store>compute remains at the end.
/// Errors: kInvalidArgument with the reason why the schedule is not legal.
Result<Stream> BuildPackedAlu(const Design& design, const ResultBlocks& blocks, bool int8_data,
                              const std::vector<EpilogueStep>& steps);

}  // namespace tilewright::vta
