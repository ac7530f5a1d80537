#pragma once

// Internal to src/schedule: loops that copy to shared memory and use what they copied, which
// DoubleBuffers and PipelineCopies turn into loops that copy ahead.

#include <optional>
#include <vector>

#include "src/ir/stmt.h"

namespace tilewright {

/// A loop that makes copies and uses them.
struct CopyLoop {
  std::vector<Buffer> allocated;  ///< by the loop's body, outermost first
  std::vector<Buffer> copied;     ///< those of them that were asked for
  std::vector<Stmt> copies;       ///< what writes these
  std::vector<Stmt> rest;
};

/// None unless the loop's body copies to one of `marked`, from memory that the rest of the body
/// does not write, as it does not write the copies.
std::optional<CopyLoop> MatchCopyLoop(const StmtNode& loop, const std::vector<Buffer>& marked);

bool ContainsBuffer(const std::vector<Buffer>& buffers, const BufferNode* buffer);

/// The statement with buffers allocated around it, the first one outermost.
Stmt AllocateAll(const std::vector<Buffer>& buffers, Stmt body);

}  // namespace tilewright
