#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/epilogue_writer.h"
#include "src/vta/stream_builder.h"

namespace tilewright::vta {

/// A convolution on packed tensors: data [batch][ci][height][width] of INP tiles, kernel
/// [co][ci][kernel_h][kernel_w] of WGT tiles, result like the data. Channels count blocks, the
/// batch counts tiles.
struct PackedConv2d {
  std::int64_t batch = 1, ci = 1, co = 1;
  std::int64_t height = 1, width = 1;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_h = 0, pad_w = 0;  ///< zeros on either side

  std::int64_t out_height() const { return (height + 2 * pad_h - kernel_h) / stride_h + 1; }
  std::int64_t out_width() const { return (width + 2 * pad_w - kernel_w) / stride_w + 1; }
};

/// Whether extents are positive and small enough to calculate with, the padding fits a transfer, and
/// there is a result.
/// Errors: kInvalidArgument naming the field.
Status CheckShape(const PackedConv2d& conv);

/// A point of AutoTVM's space conv2d_packed.vta: inner extents of the four splits that have an
/// effect, and over how many virtual threads the outer loops of channels or rows are spread.
struct PackedConv2dTiles {
  std::int64_t h = 1, w = 1, ci = 1, co = 1;
  std::int64_t oc_threads = 1, h_threads = 1;
  std::int64_t threads() const { return oc_threads * h_threads; }
};

/// Entries that a schedule takes of each memory, all threads together.
struct PackedConv2dFootprint {
  std::int64_t inp = 0, wgt = 0, acc = 0;
};
PackedConv2dFootprint Footprint(const PackedConv2d& conv, const PackedConv2dTiles& tiles,
                                const std::vector<EpilogueStep>& epilogue);

/// Whether a schedule can be built, but for its micro-op kernels and transfers, which
/// BuildPackedConv2d looks at: extents divide, memories suffice, not both thread knobs are used.
/// Errors: kInvalidArgument with the reason.
Status CheckPackedConv2d(const Design& design, const PackedConv2d& conv,
                         const PackedConv2dTiles& tiles, const std::vector<EpilogueStep>& epilogue);

/// The stream that the original compiler makes of a schedule, instruction by instruction.
///
/// Its buffers, after the micro-ops: "data", "kernel", "output", then one for each tensor operand
/// of the epilogue. With one virtual thread and more than one tile it leaves a token store>compute
/// behind, as the original does.
/// Errors: kInvalidArgument with the reason why the schedule is not legal.
Result<Stream> BuildPackedConv2d(const Design& design, const PackedConv2d& conv,
                                 const PackedConv2dTiles& tiles,
                                 const std::vector<EpilogueStep>& epilogue);

}  // namespace tilewright::vta
