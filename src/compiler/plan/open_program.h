#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"

namespace tilewright {

/// How a kernel for a block of entries becomes a kernel for any number of entries.
struct OpenLoop {
  std::int64_t entries = 1;  ///< of a block
  std::int64_t most = 1;     ///< largest number of entries
  /// By parameter: whether the tensor has entries, which are then its outermost part.
  std::vector<bool> has_entries;
  bool parallel = false;  ///< blocks may run on several threads
  /// The blocks of one part of the result follow each other, instead of the parts of one block:
  /// for kernels that read more from a tensor without entries than from those with entries.
  bool blocks_innermost = false;
};

/// Puts the loop over blocks around a kernel. The new first parameter is the number of entries, one
/// int64, at least `entries`. The last block is moved back to end with the last entry, so it may
/// compute entries a second time: with blocks of several entries, the result may not overwrite an
/// operand. Tensors keep the shape of a block; a first index goes on beyond it.
///
/// Errors: kUnsupported for a kernel that calls a library, and for a tensor whose outermost
/// dimension has no whole number of elements for each entry.
Result<Program> OpenProgram(const Program& block, const OpenLoop& loop);

/// Loop over the blocks of a kernel.
struct BlockLoop {
  Expr number;                                      ///< variable of a block
  Expr count;                                       ///< of blocks, at least 1
  std::int64_t most = 1;                            ///< blocks
  bool parallel = false, blocks_innermost = false;  ///< as OpenLoop has them
};
/// Puts a loop around the code of block `loop.number`. If that is a loop over parts, it becomes one
/// loop over the parts of all blocks. around: adds variables around the code of a part or a block.
Stmt LoopOverBlocks(const Stmt& block, const BlockLoop& loop,
                    const std::function<Stmt(Stmt)>& around);

}  // namespace tilewright
