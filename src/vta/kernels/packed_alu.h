#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/kernels/epilogue_writer.h"
#include "src/vta/stream_builder.h"

namespace tilewright::vta {

/// An operator without a product: a packed tensor is loaded block by block, goes through ALU
/// operations, and is stored narrowed.
///
/// blocks: the result, and the inner extents of AutoTVM's space add.vta (tile_co, tile_h, tile_w).
/// int8_data: the tensor is int8 and widened when loaded; otherwise it is int32.
/// The stream is the original compiler's, instruction by instruction. Its buffers, after the
/// micro-ops: "data", "output", then one for each tensor operand of the steps. With more than one
/// block it leaves a token store>compute behind.
/// Errors: kInvalidArgument with the reason why the schedule is not legal.
Result<Stream> BuildPackedAlu(const Design& design, const ResultBlocks& blocks, bool int8_data,
                              const std::vector<EpilogueStep>& steps);

}  // namespace tilewright::vta
