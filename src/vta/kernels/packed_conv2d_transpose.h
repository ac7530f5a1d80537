#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/vta/kernels/packed_conv2d.h"
#include "src/vta/kernels/packed_operator.h"

namespace tilewright::vta {

/// Transposed convolution on packed tensors: data [batch][ci][height][width] of INP tiles, kernel
/// [co][ci][kernel_h][kernel_w] of WGT tiles (not flipped), result
/// [batch][co][out_height][out_width]. Element (y, x) of the data adds to the results
/// (y * stride_h - pad_h + ky, x * stride_w - pad_w + kx). Channels count blocks, the batch counts
/// tiles.
struct PackedConv2dTranspose {
  std::int64_t batch = 1, ci = 1, co = 1;
  std::int64_t height = 1, width = 1;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_h = 0, pad_w = 0;  ///< leading rows and columns that are cut off
  std::int64_t out_height = 1, out_width = 1;
};

/// Schedules the convolution by a point of AutoTVM's space conv2d_transpose_packed.vta. Computes
/// only products with data: rows and columns of results form `stride` phases, each of which uses
/// its own taps of the kernel.
/// Errors: kInvalidArgument with the reason if extents do not divide, both thread knobs are used, a
/// phase has no taps, or a tile would not begin with the first phase.
Result<PackedOperator> SchedulePackedConv2dTranspose(const PackedConv2dTranspose& conv,
                                                     const PackedConv2dTiles& tiles);

}  // namespace tilewright::vta
