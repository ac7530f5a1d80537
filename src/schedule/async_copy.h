#pragma once

#include <vector>

#include "src/ir/stmt.h"

namespace tilewright {

// Copies from global to shared memory that a GPU makes beside the arithmetic (cp.async). What is
// copied may be touched by nobody until a wait of the thread that began the copy, and by other
// threads until a barrier after that.

/// First compute capability with asynchronous copies.
inline constexpr int kAsyncCopyCapability = 80;

/// A kCopy with the attribute "async" that begins the copy of a run of consecutive elements. Where
/// `condition` (null: always true) does not hold, zeros are written and the source is not read.
Stmt MakeAsyncCopy(Region to, Region from, Expr condition = {});
/// True for what MakeAsyncCopy makes.
bool IsAsyncCopy(const StmtNode& stmt);

/// A copy that PipelineCopies made for a later step: the part of the buffer it writes was last read
/// one step before ("ahead").
bool IsAhead(const StmtNode& copy);
/// The statement with all asynchronous copies inside it so marked.
Stmt MarkAhead(const Stmt& stmt);

/// Ends a group of the thread's copies: those begun since the last group ended.
Stmt MakeAsyncCommit();
bool IsAsyncCommit(const StmtNode& stmt);
/// Waits until at most the last `pending` groups of the thread are under way. arrived: what has
/// been copied to then.
Stmt MakeAsyncWait(int pending, std::vector<Region> arrived);
bool IsAsyncWait(const StmtNode& stmt);
/// `pending` of a wait.
int PendingGroupsOf(const StmtNode& wait);

}  // namespace tilewright
