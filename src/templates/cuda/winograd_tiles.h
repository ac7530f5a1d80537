#pragma once

#include <cstdint>
#include <initializer_list>

#include "src/schedule/schedule.h"

namespace tilewright {

// Parts that Winograd's convolutions on grids share: each thread transforms tiles of its own.

/// Keeps a step of a transform in the registers of one thread, and unrolls these axes of it.
void KeepPrivate(Schedule& schedule, StageId stage, StageId consumer, LoopId thread,
                 std::initializer_list<int> unrolled);
/// Tiles of m x m of a Winograd result.
struct WinogradResultTiles {
  StageId result;
  LoopId thread;  ///< the innermost loop over tiles
};
/// Inlines the epilogue and cuts the result into tiles of m x m, unrolled, with this many threads
/// of a block, each with one tile of a channel or of a block of channels.
WinogradResultTiles TileWinogradResult(Schedule& schedule, std::int64_t m, std::int64_t threads);
/// Schedules the transforms of the products to tiles of m x m of the result, and the epilogue, with
/// this many threads of a block, each with one tile of a channel.
void ScheduleWinogradResult(Schedule& schedule, std::int64_t m, std::int64_t threads);

}  // namespace tilewright
