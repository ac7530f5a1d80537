#pragma once

#include <cstdint>
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

}  // namespace tilewright
