#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/kernels/epilogue_writer.h"
#include "src/vta/stream_builder.h"

namespace tilewright::vta {

/// Maximum of each window of a packed int8 tensor [batch][co][height][width], in tiles.
struct PackedPool {
  std::int64_t height = 1, width = 1;  ///< of the input
  std::int64_t window_h = 1, window_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0;
};

/// Builds the stream of a pooling.
///
/// result: its sizes, and the blocks it is computed in.
/// A block of the result is initialized with the smallest int8 number. Then one ALU operation for
/// each position in the window computes the maximum with those inputs that are inside the image, so
/// padding is neither loaded nor computed. Buffers, after the micro-ops: "data", "output". Only
/// designs that load int8 data into the accumulator can run it. With more than one block a token
/// store>compute remains at the end.
/// Errors: kInvalidArgument with the reason why the schedule is not legal.
Result<Stream> BuildPackedPool(const Design& design, const PackedPool& pool,
                               const ResultBlocks& result);

}  // namespace tilewright::vta
