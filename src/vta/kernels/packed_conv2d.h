#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/kernels/epilogue_writer.h"
#include "src/vta/kernels/packed_operator.h"

namespace tilewright::vta {

/// Convolution on packed tensors: data [batch][groups * ci][height][width] of INP tiles, kernel
/// [co][ci][kernel_h][kernel_w] of WGT tiles, result [batch][co][out_height][out_width]. Channels
/// count blocks, the batch counts tiles.
struct PackedConv2d {
  std::int64_t batch = 1;
  std::int64_t ci = 1;  ///< of one group
  std::int64_t co = 1;  ///< of all groups
  std::int64_t height = 1, width = 1;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_h = 0, pad_w = 0;  ///< zeros on both sides
  std::int64_t groups = 1;
  std::int64_t extra_pad_h = 0,
               extra_pad_w = 0;  ///< additional trailing zeros; may be negative

  std::int64_t padded_height() const { return height + 2 * pad_h + extra_pad_h; }
  std::int64_t padded_width() const { return width + 2 * pad_w + extra_pad_w; }
  std::int64_t out_height() const { return (padded_height() - kernel_h) / stride_h + 1; }
  std::int64_t out_width() const { return (padded_width() - kernel_w) / stride_w + 1; }
};

/// Checks that extents are positive and small enough to compute with, that the padding fits a
/// transfer, that the groups divide the channels, and that the result is not empty.
/// Errors: kInvalidArgument naming the field.
Status CheckShape(const PackedConv2d& conv);

/// Point of AutoTVM's spaces conv2d_packed.vta, group_conv2d_packed.vta and
/// conv2d_transpose_packed.vta: inner extents of the four splits that have an effect, and the
/// numbers of virtual threads for the outer loops of channels and rows.
struct PackedConv2dTiles {
  std::int64_t h = 1, w = 1, ci = 1, co = 1;
  std::int64_t oc_threads = 1, h_threads = 1;
  std::int64_t threads() const { return oc_threads * h_threads; }
};

/// Sizes of a convolution, transposed or not, that tiles cut.
struct ConvSums {
  std::int64_t batch, ci, co;
  std::int64_t out_height, out_width;
  std::int64_t taps;  ///< of the kernel, for each pair of channels
};
/// Makes the tiles, slices and weights of a schedule; the caller adds activations and products.
/// Errors: those of CheckSplits.
Result<PackedOperator> TileConv(const ConvSums& sums, const PackedConv2dTiles& tiles);

/// Schedules the convolution.
/// Errors: kInvalidArgument with the reason if extents do not divide, both thread knobs are used,
///         or a tile has neither whole groups nor a part of one.
Result<PackedOperator> SchedulePackedConv2d(const PackedConv2d& conv,
                                            const PackedConv2dTiles& tiles);

/// Builds its stream, equal to the original compiler's, instruction by instruction.
/// Errors: kInvalidArgument with the reason why the schedule is not legal.
Result<Stream> BuildPackedConv2d(const Design& design, const PackedConv2d& conv,
                                 const PackedConv2dTiles& tiles,
                                 const std::vector<EpilogueStep>& epilogue);

}  // namespace tilewright::vta
