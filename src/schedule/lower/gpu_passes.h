#pragma once

// Internal to src/schedule: what a lowered root stage goes through when its loops are bound to a
// GPU. In this order: BindThreads, DistributeFragments, InjectVirtualThreads, PipelineCopies,
// DoubleBuffers, PlaceBarriers.

#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"

namespace tilewright {

/// One loop per index of grid and block, around everything else. Stages name these loops
/// differently and make them of different lengths; the longest counts, shorter ones get a
/// condition. What no loop deals to the threads is written by the first of them.
Stmt BindThreads(const Stmt& stmt);

/// Matrix products of a warp (MmaIntrinsic): their regions, so far what one thread's part of the
/// product reads, become what that thread loads of the warp's operands.
/// Errors: kInvalidArgument if the block is not one of 4 x 8 x warps, if operands differ between
/// threads that must share them, or if not all threads come by.
Result<Stmt> DistributeFragments(const Stmt& stmt);

/// Virtual threads run in step on one thread: each of their loops moves inwards to the statements
/// that depend on it, and memory private to them gets one more dimension. What does not depend on
/// it (copies to shared memory, above all) stays outside and happens once.
Stmt InjectVirtualThreads(const Stmt& stmt);

/// Shared memory that asynchronous copies (src/schedule/async_copy.h) fill, and how many copies of
/// it there are to be.
struct PipelinedBuffer {
  Buffer buffer;
  int copies = 2;
};
/// The loops that copy to the marked buffers before they use them begin each copy `copies` - 1
/// steps ahead and wait for it when it is used; the copies take turns. Errors: kInvalidArgument if
/// a marked buffer is copied to in no such loop, or in one of fewer steps than there are copies.
Result<Stmt> PipelineCopies(const Stmt& stmt, const std::vector<PipelinedBuffer>& marked);

/// The loops that copy to one of the marked buffers before they use it make the copies one step
/// ahead, in two buffers that take turns. What does not have this form stays as it is.
Stmt DoubleBuffers(const Stmt& stmt, const std::vector<Buffer>& marked);

/// Barriers wherever a thread may read from shared memory what another one wrote, or write where
/// another one may still read. Within one stage no two threads touch the same element, so only
/// accesses of different stages are in conflict.
/// Errors: kInvalidArgument if a barrier is needed where not all threads come by.
Result<Stmt> PlaceBarriers(const Stmt& stmt);

}  // namespace tilewright
