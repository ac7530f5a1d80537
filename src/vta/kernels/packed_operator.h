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

// What the streams of AutoTVM's templates *_packed.vta have in common: a result that is computed
// tile by tile, in steps that load activations and weights and multiply them.

namespace tilewright::vta {

/// The tiles of a result: it is cut into blocks, and the outer loop over channels or over rows is
/// spread over virtual threads.
struct PackedTiles {
  ResultBlocks blocks;
  std::int64_t oc_threads = 1, h_threads = 1;
  std::int64_t threads() const { return oc_threads * h_threads; }
  std::int64_t count() const;  ///< those of all threads
};

/// One GEMM instruction: loops around micro-ops, whose indices count from the first entry of each
/// memory that belongs to the thread.
struct Product {
  std::vector<NestLoop> loops;  ///< outermost first; the two outermost are the instruction's
  std::vector<Uop> uops = {Uop()};
};

/// One step: which part of the sums, which slice of what is summed.
struct StepIndex {
  std::int64_t part = 0, slice = 0;
};

/// An operator with its schedule, for BuildPackedOperator.
struct PackedOperator {
  PackedTiles tiles;
  /// Entries that the operands of one step take, for each thread.
  std::int64_t inp_entries = 0, wgt_entries = 0;
  /// What is multiplied for each part of a tile's sums. All parts have the same slices, which are
  /// computed one after the other.
  std::vector<std::vector<Product>> parts;
  std::int64_t slices = 1;
  /// The transfers of a step for a tile; memory and place on the chip are left open.
  /// Errors: kInvalidArgument if one transfer cannot do it.
  std::function<Result<Transfer>(const BlockIndex&tile, const StepIndex&step)> load_inp, load_wgt;

  std::int64_t steps() const { return static_cast<std::int64_t>(parts.size()) * slices; }
};

/// An axis that a knob cuts: into pieces of `inner`, whose number is spread over threads.
struct AxisSplit {
  std::string_view name;
  std::int64_t extent = 1, inner = 1, threads = 1;
};
/// Errors: kInvalidArgument naming the knob unless the pieces divide the axis and the threads (1 or
///         2, and of one axis only) the pieces.
Status CheckSplits(std::span<const AxisSplit> splits);

/// A field of a shape. Errors: kInvalidArgument naming it unless it is at least 1 and small enough
/// to calculate with.
struct NamedExtent {
  std::string_view name;
  std::int64_t value = 1;
};
Status CheckExtents(std::span<const NamedExtent> extents);

/// Entries that a schedule takes of each memory, all threads together.
struct PackedFootprint {
  std::int64_t inp = 0, wgt = 0, acc = 0;
};
PackedFootprint FootprintOf(const PackedOperator& op, const std::vector<EpilogueStep>& epilogue);

/// Bytes of activations and weights that a schedule loads, padding taken as data.
std::int64_t LoadedBytes(const Design& design, const PackedOperator& op);

/// Whether memories and the longest micro-op kernel fit the design.
/// Errors: kInvalidArgument with the reason.
Status CheckPackedOperator(const Design& design, const PackedOperator& op,
                           const std::vector<EpilogueStep>& epilogue);

/// The stream that the original compiler makes of a schedule.
///
/// Its buffers, after the micro-ops: "data", "kernel", "output", then one for each tensor operand
/// of the epilogue. With one virtual thread and more than one tile it leaves a token store>compute
/// behind, as the original does.
/// Errors: those of CheckPackedOperator and of the transfers and kernels.
Result<Stream> BuildPackedOperator(const Design& design, const PackedOperator& op,
                                   const std::vector<EpilogueStep>& epilogue);

/// The images that a convolution reads, one for each block of channels, and the window that a tile
/// takes of each.
struct ImageWindow {
  std::int64_t height = 1, width = 1;
  std::int64_t window_h = 1, window_w = 1;
  bool padded = false;  ///< some window reaches beyond the image
};
/// Channels in runs of consecutive ones.
struct ChannelRuns {
  std::int64_t first = 0;
  std::int64_t count = 1, run = 1;
  std::int64_t stride = 1;  ///< from one run to the next
};
/// The transfer of the windows of some channels whose first row and column these are (negative:
/// zeros in front of the image).
/// Errors: kInvalidArgument if one transfer cannot do it, or a window has nothing of the image.
Result<Transfer> WindowTransfer(const ImageWindow& image, const ChannelRuns& channels,
                                std::int64_t top, std::int64_t left);

/// A kernel [co][ci][filter] of WGT tiles and the blocks of channels that a step takes of it.
struct KernelBlocks {
  std::int64_t ci = 1, filter = 1;
  std::int64_t block_co = 1, block_ci = 1;
  std::int64_t entries() const { return block_co * block_ci * filter; }
};
/// Errors: kInvalidArgument if a size does not fit its field.
Result<Transfer> KernelTransfer(const KernelBlocks& kernel, std::int64_t channel,
                                std::int64_t slice);

}  // namespace tilewright::vta
