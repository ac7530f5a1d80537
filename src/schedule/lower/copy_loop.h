#pragma once

// Internal to src/schedule: loops that copy to shared memory and use the copies. DoubleBuffers and
// PipelineCopies transform them into loops with prefetched copies.

#include <functional>
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

/// Returns the statement with `unfold` of its copy loops in their place, the innermost ones first.
/// marked: requested buffers; those that a loop has copied are erased, so each belongs to one loop.
Stmt UnfoldCopyLoops(const Stmt& stmt, std::vector<Buffer>* marked,
                     const std::function<Stmt(const StmtNode&, const CopyLoop&)>& unfold);

/// Returns the statement with buffers allocated around it, the first one outermost.
Stmt AllocateAll(const std::vector<Buffer>& buffers, Stmt body);

}  // namespace tilewright
