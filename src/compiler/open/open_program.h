#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"

namespace tilewright {

/// How kernels for blocks of entries become a kernel for any number of entries.
struct OpenLoop {
  std::int64_t most = 1;  ///< largest number of entries
  /// By parameter: whether the tensor has entries, which are then its outermost part.
  std::vector<bool> has_entries;
  bool parallel = false;  ///< blocks may run on several threads
  /// The blocks of one part of the result follow each other, instead of the parts of one block:
  /// for kernels that read more from a tensor without entries than from those with entries.
  bool blocks_innermost = false;
};

/// Puts the loop over blocks around kernels of one computation. The new first parameter is the
/// number of entries, one int64 from 1. Entries are shared evenly among as few blocks as possible,
/// so a block has at most `bodies.size()` entries and any two differ by at most one. Tensors keep
/// the shape of the largest block; a first index goes on beyond it.
///
/// bodies: kernels for blocks of one, two, … entries, at least one.
/// Errors: kUnsupported for a kernel that calls a library, and for a tensor whose outermost
/// dimension has no whole number of elements for each entry.
Result<Program> OpenProgram(std::span<const Program> bodies, const OpenLoop& loop);

/// Loop over the blocks of a kernel.
struct BlockLoop {
  Expr number;                                      ///< variable of a block
  Expr count;                                       ///< of blocks, at least 1
  std::int64_t most = 1;                            ///< blocks
  bool parallel = false, blocks_innermost = false;  ///< as OpenLoop has them
};
/// Puts a loop around the code of block `loop.number`. If its bodies are loops over as many parts,
/// they become one loop over the parts of all blocks.
///
/// bodies: alternatives, at least one. around: makes one statement of the bodies, or of those of a
/// part, and adds variables around it.
Stmt LoopOverBlocks(std::vector<Stmt> bodies, const BlockLoop& loop,
                    const std::function<Stmt(std::vector<Stmt>)>& around);

}  // namespace tilewright
