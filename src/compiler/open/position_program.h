#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/graph/open/position_count.h"
#include "src/ir/stmt.h"

namespace tilewright {

/// Tensor with positions in memory: rows of positions, each with room on both sides.
struct PositionRows {
  std::int64_t rows = 1;     ///< the product of the dimensions outside of the positions
  std::int64_t pitch = 0;    ///< elements from one row to the next
  std::int64_t begin = 0;    ///< elements of a row before its first position
  std::int64_t element = 1;  ///< elements of a position in one row
};

/// Parameter of a kernel of blocks.
struct PositionParameter {
  bool open = false;  ///< it has positions; the other members are of these
  PositionRows rows;
  std::int64_t begin = 0;  ///< elements of a row before the first one of block 0
};

/// Kernel of a block of positions.
struct PositionBlock {
  const Program* program = nullptr;
  std::int64_t positions = 1;  ///< of the result
  /// By parameter: elements of a row from the begin of a block to that of the next one.
  std::vector<std::int64_t> steps;
};

/// Numbers around the positions of a result, which windows read.
struct PositionFill {
  std::int64_t before = 0, after = 0;  ///< elements of a row
  double value = 0;
};

/// Copy between a tensor of the model, whose rows follow each other, and a parameter.
struct PositionCopy {
  std::size_t parameter = 0;
  PositionCount count;
  PositionFill fill;  ///< of a tensor that is copied into the arena
};

/// What a kernel for any number of positions consists of. Its parameters are the size of the
/// dimension (one int64), those of the block's kernel without the result, the results of
/// `outputs`, and the result.
struct PositionKernel {
  std::vector<PositionParameter> parameters;  ///< of the block's kernel
  /// The largest first: smaller ones are for the rest of the positions.
  std::vector<PositionBlock> blocks;
  PositionCount count;    ///< of the result
  std::int64_t most = 1;  ///< positions of the result
  bool parallel = false, blocks_innermost = false;
  PositionFill fill;                  ///< of the result
  std::vector<PositionCopy> inputs;   ///< copied before: `parameter` is written first
  std::vector<PositionCopy> outputs;  ///< copied after: of the result
};

/// Returns the kernel for any number of positions up to `most`. Blocks of each size compute as many
/// as leave less than one of them to smaller ones. The last block may compute positions
/// that do not exist: every tensor has room for them.
///
/// Parameters, in order: the size of the dimension, one int64; the block's operands that are only
/// read; a tensor of the model for each of `inputs`; the operands that `inputs` write, then one for
/// each of `outputs`, and the result. order: gets the number of the block's parameter for each, -1
/// for the size, -2 - i for tensor i of the model (inputs, then outputs).
/// Errors: kUnsupported for a kernel that calls a library or has a tensor in which positions cannot
/// be told from other dimensions.
Result<Program> MakePositionProgram(const PositionKernel& kernel, std::vector<int>& order);

/// Puts a variable with the number of positions around a kernel. size: the parameter with the size
/// of the dimension.
Stmt WithPositions(const PositionCount& count, const Expr& positions, std::int64_t most,
                   const Buffer& size, Stmt body);

}  // namespace tilewright
