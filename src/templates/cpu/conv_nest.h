#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/templates/stages.h"

namespace tilewright {

/// Where the padded copy of the data is made.
enum class PadPlace : std::uint8_t {
  kWhole,   ///< all of it before the convolution
  kRows,    ///< the rows of one pass, just before the pass
  kInline,  ///< no copy: loads test whether they are outside
};

/// Returns the place of a value of the knob "pad": "copy", "rows" or "skip".
PadPlace PadPlaceOf(std::string_view word);

/// Loops of a direct convolution over blocked channels.
///
/// The result is cut into register tiles of oc_blocks x rows x cols vectors. A pass walks over
/// `row_tiles` rows of tiles for one group of output channels, so its weights stay in cache:
///   n, row pass | output channel group | row tile, column tile | reduction | register tile
/// A register tile of a grouped convolution stays within one group of channels.
/// The reduction runs input channel block (as the weight layout blocks them), kernel row, kernel
/// column, channels of the block.
struct ConvNest {
  static constexpr std::int64_t kWholeAxis = std::int64_t{1} << 40;
  std::int64_t oc_blocks = 1;
  std::int64_t group_blocks = 0;  ///< blocks of a group's output channels; 0: there is one group
  std::int64_t rows = 1, cols = 1;
  std::int64_t row_tiles = 1;
  std::int64_t col_tiles = kWholeAxis;
  std::int64_t ic_parts = 1;   ///< weight blocks of input channels per block of the data
  std::int64_t ic_unroll = 1;  ///< channels (or groups of one dot product) unrolled, innermost
  bool unroll_kw = false;
  bool ic_before_kw = false;    ///< loop over channels of the block outside the kernel columns
  bool channels_first = false;  ///< loop over output channel groups outermost, then row passes
  std::string dot;              ///< intrinsic; empty: plain multiply and add
  PadPlace pad = PadPlace::kWhole;
  /// Number of blocks of the data's channels by which weights are prefetched, in the order of their
  /// memory; 0: no prefetch.
  std::int64_t weight_distance = 0;
};

/// Places the "pad" stage of an anchor. pass: the loop of the result in which kRows makes the copy.
void SchedulePad(Schedule& schedule, const AnchorStages& stages, PadPlace place, LoopId pass,
                 std::int64_t lanes, const Target& target);

/// Arranges the loops. An illegal nest becomes an error of the schedule's status.
void ScheduleConvNest(Schedule& schedule, const ConvNest& nest, std::int64_t lanes,
                      const Target& target);

}  // namespace tilewright
