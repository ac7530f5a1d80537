#pragma once

#include <vector>

#include "src/ir/stmt.h"

namespace tilewright {

// Copies from global to shared memory that a GPU executes in parallel to the arithmetic (cp.async).
// The thread that began a copy must wait before it accesses the data. Other threads may access them
// after a barrier that follows this wait.

/// First compute capability with asynchronous copies.
inline constexpr int kAsyncCopyCapability = 80;

/// Creates a kCopy with the attribute "async" that begins the copy of a run of consecutive
/// elements. If `condition` (null: always true) is false, writes zeros and does not read the
/// source.
Stmt MakeAsyncCopy(Region to, Region from, Expr condition = {});
/// Returns true for statements of MakeAsyncCopy.
bool IsAsyncCopy(const StmtNode& stmt);

/// Returns true for a copy that PipelineCopies made for a later step: the previous step was the
/// last to read the part of the buffer that it writes (attribute "ahead").
bool IsAhead(const StmtNode& copy);
/// Returns the statement with all asynchronous copies inside it marked in this way.
Stmt MarkAhead(const Stmt& stmt);

/// Creates the end of a group of the thread's copies: those begun since the previous group.
Stmt MakeAsyncCommit();
bool IsAsyncCommit(const StmtNode& stmt);
/// Creates a wait until at most the last `pending` groups of the thread are unfinished. arrived:
/// data whose copies are finished then.
Stmt MakeAsyncWait(int pending, std::vector<Region> arrived);
bool IsAsyncWait(const StmtNode& stmt);
/// Returns `pending` of a wait.
int PendingGroupsOf(const StmtNode& wait);

}  // namespace tilewright
