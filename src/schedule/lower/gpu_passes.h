#pragma once

// Internal to src/schedule: passes over a lowered root stage whose loops are bound to a GPU. Order:
// BindThreads, DistributeFragments, InjectVirtualThreads, PipelineCopies, DoubleBuffers,
// PlaceBarriers.

#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"

namespace tilewright {

/// Merges the bound loops into one loop per index of grid and block, around all other statements.
/// Stages have loops of different names and lengths; the longest length is used, and shorter loops
/// get a condition. The first thread writes data that no loop distributes to the threads.
Stmt BindThreads(const Stmt& stmt);

/// Distributes the operands of matrix products of a warp (MmaIntrinsic). Their regions, which
/// contain the data that one thread's part of the product reads, become the data that this thread
/// loads.
/// Errors: kInvalidArgument if the block is not 4 x 8 x warps, if operands differ between threads
/// that must share them, or if not all threads reach the product.
Result<Stmt> DistributeFragments(const Stmt& stmt);

/// Executes virtual threads interleaved on one thread. Each of their loops moves inwards to the
/// statements that depend on it, and their private memory gets one more dimension. Other statements
/// (mainly copies to shared memory) stay outside and execute once.
Stmt InjectVirtualThreads(const Stmt& stmt);

/// Shared memory that asynchronous copies (src/schedule/async_copy.h) fill, and the requested
/// number of copies.
struct PipelinedBuffer {
  Buffer buffer;
  int copies = 2;
};
/// Pipelines the loops that copy to the marked buffers before they use them. Each copy begins
/// `copies` - 1 steps before its use and is waited for at its use; the copies form a ring. Errors:
/// kInvalidArgument if no such loop copies to a marked buffer, or if the loop has fewer steps than
/// copies.
Result<Stmt> PipelineCopies(const Stmt& stmt, const std::vector<PipelinedBuffer>& marked);

/// Double-buffers the loops that copy to one of the marked buffers before they use it. The copies
/// are made one step ahead, in two alternating buffers. Leaves other code unchanged.
Stmt DoubleBuffers(const Stmt& stmt, const std::vector<Buffer>& marked);

/// Places barriers wherever a thread may read shared memory that another one wrote, or write where
/// another one may still read. Within one stage no two threads access the same element, so only
/// accesses of different stages conflict.
/// Errors: kInvalidArgument if a barrier is needed where not all threads reach it.
Result<Stmt> PlaceBarriers(const Stmt& stmt);

}  // namespace tilewright
