#pragma once

#include <cstdint>
#include <string_view>

#include "src/templates/cpu/conv_nest.h"

namespace tilewright {

/// Loops of a depthwise convolution over blocked channels. Channel blocks are independent, so a
/// tile is one vector of channels by rows x cols pixels, and the weights of the kernel stay in
/// registers with it:
///   n, channel block, row pass | row tile, column tile | kernel row, kernel column | tile
/// With an intrinsic for taps, the columns of the tile are outside the kernel rows: the rows of
/// data that a column reads are prepared once for all kernel rows.
struct DepthwiseNest {
  std::int64_t rows = 1, cols = 1;
  std::int64_t row_tiles = 1;  ///< register tiles of rows per pass
  bool unroll_kh = true, unroll_kw = true;
  PadPlace pad = PadPlace::kWhole;
  /// Intrinsic that sums the taps of a block of the weight's columns; empty: one tap at a time.
  std::string_view taps = {};
};

/// Arranges the loops. An illegal nest becomes an error of the schedule's status.
void ScheduleDepthwiseNest(Schedule& schedule, const DepthwiseNest& nest, std::int64_t lanes,
                           const Target& target);

}  // namespace tilewright
