#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/kernels/epilogue_writer.h"
#include "src/vta/kernels/uop_nest.h"
#include "src/vta/stream_builder.h"

// Common part of the streams of AutoTVM's templates *_packed.vta: a result that is computed tile by
// tile, in steps that load activations and weights and multiply them.

namespace tilewright::vta {

/// Tiles of a result: the result is split into blocks, and the outer loop over channels or rows is
/// distributed to virtual threads.
struct PackedTiles {
  ResultBlocks blocks;
  std::int64_t oc_threads = 1, h_threads = 1;
  std::int64_t threads() const { return oc_threads * h_threads; }
  std::int64_t count() const;  ///< of all threads
};

/// GEMM instruction: loops around micro-ops. Their indices are relative to the thread's first entry
/// of each memory.
struct Product {
  std::vector<NestLoop> loops;  ///< outermost first; the two outermost belong to the instruction
  std::vector<Uop> uops = {Uop()};
};

/// Step of a tile: part of the sums, and slice of the reduction.
struct StepIndex {
  std::int64_t part = 0, slice = 0;
};

/// Operator with its schedule, for BuildPackedOperator.
struct PackedOperator {
  PackedTiles tiles;
  /// Entries of the operands of one step, per thread.
  std::int64_t inp_entries = 0, wgt_entries = 0;
  /// Products for each part of a tile's sums. All parts have the same slices; parts are computed
  /// one after the other.
  std::vector<std::vector<Product>> parts;
  std::int64_t slices = 1;
  /// Return the transfers of a step for a tile, without memory and on-chip address.
  /// Errors: kInvalidArgument if one transfer cannot do it.
  std::function<Result<Transfer>(const BlockIndex&tile, const StepIndex&step)> load_inp, load_wgt;

  std::int64_t steps() const { return static_cast<std::int64_t>(parts.size()) * slices; }
};

/// Axis that a knob splits into pieces of `inner`, which are distributed to threads.
struct AxisSplit {
  std::string_view name;
  std::int64_t extent = 1, inner = 1, threads = 1;
};
/// Checks splits.
/// Errors: kInvalidArgument naming the knob unless the pieces divide the axis and the threads (1 or
///         2, and of one axis only) divide the pieces.
Status CheckSplits(std::span<const AxisSplit> splits);

/// Field of a shape. Errors: kInvalidArgument naming it unless it is at least 1 and small enough to
/// compute with.
struct NamedExtent {
  std::string_view name;
  std::int64_t value = 1;
};
Status CheckExtents(std::span<const NamedExtent> extents);

/// Entries of each memory that a schedule needs, for all threads together.
struct PackedFootprint {
  std::int64_t inp = 0, wgt = 0, acc = 0;
};
PackedFootprint FootprintOf(const PackedOperator& op, const std::vector<EpilogueStep>& epilogue);

/// Returns the bytes of activations and weights that a schedule loads, counting padding as data.
std::int64_t LoadedBytes(const Design& design, const PackedOperator& op);

/// Checks that memories and the longest micro-op kernel fit the design.
/// Errors: kInvalidArgument with the reason.
Status CheckPackedOperator(const Design& design, const PackedOperator& op,
                           const std::vector<EpilogueStep>& epilogue);

/// Builds the stream that the original compiler makes from a schedule.
///
/// Its buffers, after the micro-ops: "data", "kernel", "output", then one for each tensor operand
/// of the epilogue. With one virtual thread and more than one tile a token store>compute remains at
/// the end, as in the original.
/// Errors: those of CheckPackedOperator and of the transfers and kernels.
Result<Stream> BuildPackedOperator(const Design& design, const PackedOperator& op,
                                   const std::vector<EpilogueStep>& epilogue);

/// Images that a convolution reads, one for each block of channels, and the window of each that a
/// tile reads.
struct ImageWindow {
  std::int64_t height = 1, width = 1;
  std::int64_t window_h = 1, window_w = 1;
  bool padded = false;  ///< true if some window reaches beyond the image
};
/// Runs of consecutive channels.
struct ChannelRuns {
  std::int64_t first = 0;
  std::int64_t count = 1, run = 1;
  std::int64_t stride = 1;  ///< from one run to the next
};
/// Returns the transfer of the windows of some channels that start at the given row and column
/// (negative: leading zeros of the image).
/// Errors: kInvalidArgument if one transfer cannot do it, or if a window contains nothing of the
/// image.
Result<Transfer> WindowTransfer(const ImageWindow& image, const ChannelRuns& channels,
                                std::int64_t top, std::int64_t left);

/// Kernel [co][ci][filter] of WGT tiles, and the blocks of channels that a step loads.
struct KernelBlocks {
  std::int64_t ci = 1, filter = 1;
  std::int64_t block_co = 1, block_ci = 1;
  std::int64_t entries() const { return block_co * block_ci * filter; }
};
/// Returns the transfer of these blocks. Errors: kInvalidArgument if a size does not fit its field.
Result<Transfer> KernelTransfer(const KernelBlocks& kernel, std::int64_t channel,
                                std::int64_t slice);

}  // namespace tilewright::vta
