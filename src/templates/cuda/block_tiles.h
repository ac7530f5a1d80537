#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/schedule/launch.h"
#include "src/schedule/schedule.h"
#include "src/space/config.h"
#include "src/target/target.h"
#include "src/templates/registry.h"
#include "src/tensor/workload.h"

namespace tilewright {

// Parts that several templates for CUDA share.

/// Returns the reason why a template without special instructions does not serve the types of the
/// workload; empty if it does.
std::string RefusesPlainTypes(const Workload& workload, const Target& target);

/// Threads of a block, z first.
using BlockThreads = std::array<std::int64_t, 3>;

/// The four loops of an axis after AutoTVM's split.
struct TiledAxis {
  LoopId block, vthread, thread, inner;
};
/// Splits the axis by the four factors.
TiledAxis TileAxis(Schedule& schedule, StageId stage, LoopId axis,
                   const std::vector<std::int64_t>& factors);

/// Orders the loops of tiled axes: blocks, virtual threads, threads, inner parts.
void OrderTiles(Schedule& schedule, StageId stage, const std::vector<TiledAxis>& axes);
/// Binds loops to z, y and x of the grid or of the block, in this order.
void BindBlockLoops(Schedule& schedule, StageId stage, const std::array<LoopId, 3>& loops);
void BindThreadLoops(Schedule& schedule, StageId stage, const std::array<LoopId, 3>& loops);
/// Orders the loops and binds the three axes to z, y and x of grid and block. Returns the innermost
/// thread loop.
LoopId BindTiles(Schedule& schedule, StageId stage, const std::array<TiledAxis, 3>& axes);

/// Loops of a stage whose tiles are bound to grid and block.
struct BoundTiles {
  LoopId block;   ///< the outermost block loop
  LoopId thread;  ///< the innermost thread loop
  BlockThreads threads;
};
/// Tiles the two axes of a matrix by these factors, orders the loops and binds them: rows to y of
/// grid and block and columns to x, or the other way round. Errors: those of CheckBlock.
Result<BoundTiles> TilePlane(Schedule& schedule, StageId stage,
                             const std::vector<std::int64_t>& row_factors,
                             const std::vector<std::int64_t>& column_factors,
                             bool rows_along_x = false);

/// Distribution of the threads of a block over four or more tiled axes: some outer ones, then f, y
/// and x.
struct ThreadDistribution {
  std::array<LoopId, 3> loops;  ///< z, y, x
  BlockThreads counts;
};
/// Fuses and binds the thread loops, which must be adjacent: z = all but y and x, y, x; or with
/// fuse_yx z = all but the last three, y = f, x = y and x.
ThreadDistribution DistributeThreads(Schedule& schedule, StageId stage,
                                     const std::vector<TiledAxis>& axes, bool fuse_yx);

/// Tiles the axes n, f, y and x of a convolution's result by the knobs tile_n, tile_f, tile_y and
/// tile_x, orders the loops and binds them: blocks z = n, y = f, x = pixels; threads as
/// DistributeThreads does, with the knob fuse_yx. Errors: those of CheckBlock.
Result<BoundTiles> TileImages(Schedule& schedule, StageId result, const Config& config);

/// Splits each reduction axis of a sum in an outer and an inner part by its factors and orders the
/// loops: outer parts (in the order of `outer`, unless it is empty), inner parts, spatial axes.
/// Returns the innermost outer loop: a copy there serves all inner loops.
LoopId OrderReduction(Schedule& schedule, StageId sum,
                      const std::vector<std::vector<std::int64_t>>& factors,
                      const std::vector<std::int64_t>& outer = {});

/// Distributes the iterations of adjacent outer loops over blocks of `threads` threads along x.
/// Returns the thread loop.
LoopId SpreadOverThreads(Schedule& schedule, StageId stage, const std::vector<LoopId>& outer,
                         std::int64_t threads);

/// Schedules a cooperative copy to shared memory: each thread of the block copies one contiguous
/// run of elements.
void FetchInRuns(Schedule& schedule, StageId stage, const BlockThreads& threads);
/// The same, but each thread copies every n-th element, so that neighbouring threads read
/// neighbouring elements.
void FetchInterleaved(Schedule& schedule, StageId stage, const BlockThreads& threads);
/// The same, but each thread copies every n-th part of `lanes` elements of the innermost axis, in
/// one access.
void FetchVectors(Schedule& schedule, StageId stage, const BlockThreads& threads,
                  std::int64_t lanes);

/// Returns a split in four parts: blocks, no virtual threads, and this many threads and inner
/// iterations.
KnobValue ThreadsAndInner(std::int64_t extent, std::int64_t threads, std::int64_t inner);
/// Threads of a block, and sums of a thread, of a convolution that is not tuned.
struct ConvTile {
  std::int64_t f = 1, y = 1, x = 1;  ///< threads
  std::int64_t sums = 1;             ///< channels of each thread
};
ConvTile DefaultConvTile(std::int64_t channels, std::int64_t height, std::int64_t width);

/// Returns a space of these knobs, then "auto_unroll_max_step" with the values `steps` and
/// "unroll_explicit", then the knobs `last`.
Result<ConfigSpace> SpaceWithUnroll(std::vector<Result<Knob>> knobs, const Target& target,
                                    std::vector<std::int64_t> steps,
                                    std::vector<Result<Knob>> last = {});
/// Documentation of the knobs tile_n, tile_y and tile_x of tiles that TileAxis makes.
inline constexpr KnobDoc kTileImagesDoc = {
    "tile_n", "Images: blocks, virtual threads, threads of a block, images of one thread."};
inline constexpr KnobDoc kTileRowsDoc = {
    "tile_y",
    "Rows of the result: blocks, virtual threads, threads of a block, rows of one thread."};
inline constexpr KnobDoc kTileColumnsDoc = {
    "tile_x",
    "Columns of the result: blocks, virtual threads, threads of a block, columns of one thread."};
/// Documentation of the knobs of SpaceWithUnroll, and of the knob "fuse_yx" (DistributeThreads).
inline constexpr KnobDoc kUnrollStepsDoc = {"auto_unroll_max_step",
                                            "Loops of a thread are unrolled if their iterations, "
                                            "with those of the loops inside, are at most "
                                            "this many. 0 unrolls none."};
inline constexpr KnobDoc kUnrollExplicitDoc = {
    "unroll_explicit",
    "1 unrolls the loops that auto_unroll_max_step chooses; 0 leaves all unrolling to the compiler "
    "of the device."};
inline constexpr KnobDoc kFuseYxDoc = {
    "fuse_yx",
    "Axes of the threads of a block. 0: x = columns, y = rows, z = all others. 1: x = rows and "
    "columns, y = output channels, z = all others."};
/// Sets the pragmas auto_unroll_max_step and unroll_explicit of a loop from the config.
void PragmaUnroll(Schedule& schedule, StageId stage, LoopId loop, const Config& config);

/// Stages of an anchor on a GPU: sums in registers, padding computed where it is read.
struct GpuStages {
  StageId sum, result;
  StageId data, weight;  ///< copies in shared memory
};
/// Creates the stages. Call before any split.
GpuStages PrepareGpuStages(Schedule& schedule);

/// Errors: kInvalidArgument if a block of these threads is not legal.
Status CheckBlock(const BlockThreads& threads, const LaunchLimits& limits = {});
/// Returns the threads of a block, the third factors of these knobs. Errors: those of CheckBlock
/// with the limits of the target.
Result<BlockThreads> BlockThreadsOf(const Config& config, const Target& target,
                                    const std::array<const char*, 3>& knobs);

}  // namespace tilewright
