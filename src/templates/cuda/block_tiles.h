#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/space/config.h"
#include "src/target/target.h"

namespace tilewright {

// Pieces that several templates for CUDA are made of.

/// What templates without special instructions serve, as the reason to refuse anything else.
inline constexpr const char* kPlainTypes =
    "only float32, float16 summed in float32, or 8-bit summed in int32";

/// Threads of a block, z first.
using BlockThreads = std::array<std::int64_t, 3>;

/// An axis in AutoTVM's four parts.
struct TiledAxis {
  LoopId block, vthread, thread, inner;
};
/// Splits the axis by the four factors.
TiledAxis TileAxis(Schedule& schedule, StageId stage, LoopId axis,
                   const std::vector<std::int64_t>& factors);

/// Puts the loops of tiled axes in order: blocks, virtual threads, threads, inner parts.
void OrderTiles(Schedule& schedule, StageId stage, const std::vector<TiledAxis>& axes);
/// z, y and x, in this order, of grid or block.
void BindBlockLoops(Schedule& schedule, StageId stage, const std::array<LoopId, 3>& loops);
void BindThreadLoops(Schedule& schedule, StageId stage, const std::array<LoopId, 3>& loops);
/// Orders and binds: the three axes become z, y and x of grid and block. Returns the innermost
/// thread loop.
LoopId BindTiles(Schedule& schedule, StageId stage, const std::array<TiledAxis, 3>& axes);

/// The same for two axes: y and x.
LoopId BindPlane(Schedule& schedule, StageId stage, const TiledAxis& y, const TiledAxis& x);

/// Threads of a block dealt to four or more tiled axes: some outer ones, then f, y and x.
struct ThreadDistribution {
  std::array<LoopId, 3> loops;  ///< z, y, x
  BlockThreads counts;
};
/// z = all but y and x, y, x; or with fuse_yx z = all but the last three, y = f, x = y and x. Fuses
/// and binds the thread loops, which must be adjacent.
ThreadDistribution DistributeThreads(Schedule& schedule, StageId stage,
                                     const std::vector<TiledAxis>& axes, bool fuse_yx);

/// Cuts each reduction axis of a sum in outer and inner part by its factors and orders the loops:
/// outer parts (in the order `outer` names them, if it does), inner parts, spatial axes. Returns
/// the innermost outer one: what is copied there serves all of the inner ones.
LoopId OrderReduction(Schedule& schedule, StageId sum,
                      const std::vector<std::vector<std::int64_t>>& factors,
                      const std::vector<std::int64_t>& outer = {});

/// A copy to shared memory that all threads of the block make together: its elements are cut in as
/// many runs as there are threads.
void FetchInRuns(Schedule& schedule, StageId stage, const BlockThreads& threads);
/// ... each thread takes every n-th element, so that neighbours read neighbouring ones.
void FetchInterleaved(Schedule& schedule, StageId stage, const BlockThreads& threads);
/// ... each thread takes every n-th part of `lanes` elements of the innermost axis, in one access.
void FetchVectors(Schedule& schedule, StageId stage, const BlockThreads& threads,
                  std::int64_t lanes);

/// A split in four parts: blocks, no virtual threads, so many threads and inner iterations.
KnobValue ThreadsAndInner(std::int64_t extent, std::int64_t threads, std::int64_t inner);
/// Threads and sums per thread of a convolution nobody has tuned.
struct ConvTile {
  std::int64_t f = 1, y = 1, x = 1;  ///< threads
  std::int64_t sums = 1;             ///< channels of each thread
};
ConvTile DefaultConvTile(std::int64_t channels, std::int64_t height, std::int64_t width);

/// Knobs "auto_unroll_max_step" with these values and "unroll_explicit".
std::vector<Result<Knob>> UnrollKnobs(const Target& target, std::vector<std::int64_t> steps);
/// Puts them on a loop.
void PragmaUnroll(Schedule& schedule, StageId stage, LoopId loop, const Config& config);

/// The stages of an anchor on a GPU: sums in registers, padding computed where it is read.
struct GpuStages {
  StageId sum, result;
  StageId data, weight;  ///< copies in shared memory
};
/// Makes them. Call before any split.
GpuStages PrepareGpuStages(Schedule& schedule);

/// Errors: kInvalidArgument if a block of so many threads is not legal.
Status CheckBlock(const BlockThreads& threads);

}  // namespace tilewright
