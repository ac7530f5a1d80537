#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/schedule/intrinsics.h"
#include "src/schedule/schedule.h"
#include "src/templates/registry.h"

namespace tilewright {

// What the templates for tensor cores share: knobs, and the schedule of one matrix product.

/// A matrix product as tensor cores see it.
struct MmaSizes {
  std::int64_t m = 0, n = 0;
  std::int64_t k = 0;         ///< products that lie in a run in memory
  bool partial_rows = false;  ///< the last block may have fewer rows than the others
  std::int64_t runs = 1;      ///< of k products each that are summed into one result
};

/// Empty for what tensor cores multiply: int8 summed in int32, float16 summed in float32, float32
/// as tf32 if the target allows that. Else the reason.
std::string RefusesMmaTypes(const Workload& workload, const Target& target);
/// The instruction that wastes least on rounding k up and is the largest of those. Errors:
/// kUnsupported, with the reason, if the device has none for these types, or n (and m, unless rows
/// may be partial) is no multiple of any.
Result<const MmaIntrinsic*> ChooseMma(const Workload& workload, const Target& target,
                                      const MmaSizes& sizes);

/// The knobs of a product, and their documentation.
std::span<const KnobDoc> MmaKnobs();
Result<ConfigSpace> MmaSpace(const MmaIntrinsic& mma, const MmaSizes& sizes, const Target& target);
/// A block of 64 x 64 where there are as many rows and columns, copied ahead where the target can.
Result<Config> MmaDefault(const MmaIntrinsic& mma, const MmaSizes& sizes, const Target& target);

/// Rows of a block.
std::int64_t MmaBlockRows(const MmaIntrinsic& mma, const Config& config);
/// Errors: kInvalidArgument if the blocks do not fit the product or are too large, or if the target
/// does not copy asynchronously, but the config does.
Status CheckMmaBlock(const MmaIntrinsic& mma, const MmaSizes& sizes, const Target& target,
                     const Config& config);

/// The stages of a matrix product and its axes.
struct MmaProduct {
  StageId sum, result;
  int row = 0, column = 0;  ///< axes of the sum, which are those of the result
  int run = 0;              ///< reduction axis: the innermost index of both copies by itself
  /// A factor in shared memory.
  struct Copy {
    StageId stage;
    std::vector<int> read_order;  ///< its axes as they lie in what it reads; empty: as in the copy
  };
  Copy data, weight;      ///< that have the row, and the column
  bool vectorize = true;  ///< columns are neighbours in the result
  /// Blocks of the grid of products lie along x, before those of rows: more than z may have. Else
  /// they lie along z.
  bool grid_along_x = false;
};
/// Schedules it on tensor cores; its stages have no loops yet. Axes that are neither row nor column
/// are a grid of products, other reduction axes steps around the run. Each block copies what one
/// step multiplies to shared memory, and each warp keeps its sums in registers; the result follows
/// there.
void ScheduleMmaProduct(Schedule& schedule, const MmaIntrinsic& mma, const MmaProduct& product,
                        const Config& config);

/// Schedules an anchor on tensor cores. Of its result the last two axes are rows and columns (those
/// before them are a grid of products); of its sum the last reduction axis is the run, those before
/// it are steps around it. Each block copies what one step multiplies to shared memory, padding
/// computed on the way, and each warp keeps its sums in registers; the epilogue follows there.
void ScheduleMma(Schedule& schedule, const MmaIntrinsic& mma, const Config& config);

}  // namespace tilewright
