#pragma once

// Internal to src/schedule: loops that copy to shared memory and use the copies. DoubleBuffers and
// PipelineCopies transform them into loops with prefetched copies.

#include <optional>
#include <vector>

#include "src/ir/stmt.h"

namespace tilewright {

/// Loop that makes copies and uses them.
struct CopyLoop {
  std::vector<Buffer> allocated;  ///< by the loop's body, outermost first
  std::vector<Buffer> copied;     ///< requested buffers among them
  std::vector<Stmt> copies;       ///< statements that write these
  std::vector<Stmt> rest;
};

/// Returns nullopt unless the loop's body copies to one of `marked` from memory that the rest of
/// the body does not write. The rest must not write the copies either.
std::optional<CopyLoop> MatchCopyLoop(const StmtNode& loop, const std::vector<Buffer>& marked);

bool ContainsBuffer(const std::vector<Buffer>& buffers, const BufferNode* buffer);

/// Returns the statement with buffers allocated around it, the first one outermost.
Stmt AllocateAll(const std::vector<Buffer>& buffers, Stmt body);

}  // namespace tilewright
