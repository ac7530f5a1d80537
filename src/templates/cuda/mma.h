#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/schedule/intrinsics.h"
#include "src/schedule/schedule.h"
#include "src/templates/registry.h"

namespace tilewright {

// Parts that the templates for tensor cores share: knobs, and the schedule of one matrix product.

/// Sizes of a matrix product on tensor cores.
struct MmaSizes {
  std::int64_t m = 0, n = 0;
  std::int64_t k = 0;         ///< products whose operands are contiguous in memory
  bool partial_rows = false;  ///< the last block may have fewer rows than the others
  std::int64_t runs = 1;      ///< number of runs of k products that are summed into one result
};

/// Empty for types that tensor cores multiply: int8 summed in int32, float16 summed in float32,
/// float32 as tf32 if the target allows that. Else the reason why not.
std::string RefusesMmaTypes(const Workload& workload, const Target& target);
/// Returns the instruction that wastes least on rounding k up; of those the largest.
/// Errors: kUnsupported, with the reason, if the device has none for these types, or n (and m,
/// unless rows may be partial) is not a multiple of any.
Result<const MmaIntrinsic*> ChooseMma(const Workload& workload, const Target& target,
                                      const MmaSizes& sizes);

/// The knobs of a product, and their documentation.
std::span<const KnobDoc> MmaKnobs();
Result<ConfigSpace> MmaSpace(const MmaIntrinsic& mma, const MmaSizes& sizes, const Target& target);
/// Returns a config with a block of 64 x 64 if there are as many rows and columns, and prefetched
/// copies if the target can copy asynchronously.
Result<Config> MmaDefault(const MmaIntrinsic& mma, const MmaSizes& sizes, const Target& target);

/// Rows of a block.
std::int64_t MmaBlockRows(const MmaIntrinsic& mma, const Config& config);
/// Errors: kInvalidArgument if the blocks do not fit the product or are too large, or if the config
/// copies asynchronously and the target cannot.
Status CheckMmaBlock(const MmaIntrinsic& mma, const MmaSizes& sizes, const Target& target,
                     const Config& config);

/// Stages of a matrix product, and its axes.
struct MmaProduct {
  StageId sum, result;
  int row = 0, column = 0;  ///< axes of the sum, which are those of the result
  int run = 0;              ///< reduction axis: the innermost index of both copies by itself
  /// Copy of a factor in shared memory.
  struct Copy {
    StageId stage;
    std::vector<int>
        read_order;  ///< its axes in the memory order of its source; empty: as in the copy
  };
  Copy data, weight;      ///< the factor with the row, and with the column
  bool vectorize = true;  ///< neighbouring columns are neighbours in the result's memory
  /// The grid of products is along x, before the blocks of rows, if it is longer than z may be.
  /// Else it is along z.
  bool grid_along_x = false;
};
/// Schedules a matrix product on tensor cores; its stages have no loops yet. Axes that are neither
/// row nor column are a grid of products; other reduction axes are steps around the run. Each block
/// copies the operands of one step to shared memory, and each warp keeps its sums in registers; the
/// result follows there.
void ScheduleMmaProduct(Schedule& schedule, const MmaIntrinsic& mma, const MmaProduct& product,
                        const Config& config);

/// Schedules an anchor on tensor cores. The last two axes of its result are rows and columns; the
/// axes before them are a grid of products. The last reduction axis of its sum is the run; those
/// before it are steps around it. Each block copies the operands of one step to shared memory, with
/// the padding computed on the way, and each warp keeps its sums in registers; the epilogue follows
/// there.
void ScheduleMma(Schedule& schedule, const MmaIntrinsic& mma, const Config& config);

}  // namespace tilewright
