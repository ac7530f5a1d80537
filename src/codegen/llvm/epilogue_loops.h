#pragma once

#include "src/codegen/llvm/storage_plan.h"
#include "src/ir/stmt.h"

namespace tilewright::emit {

/// The statement with loops instead of straight code where a tile in registers is read behind its
/// sum by an epilogue of long functions (exp, tanh and the like): the tile is copied to memory, and
/// one loop runs over it. The polynomials then stand in the code once instead of once per register;
/// the copy costs less than what the allocator had to spill among them. The same where the vectors
/// of a tile that fits into `register_bytes` leave it turned: each block of them takes as many
/// shuffles as it has vectors, and more.
/// `plan` is that of `stmt`, which is returned itself where there is no such loop; else what is
/// returned needs a plan of its own.
Stmt RollEpilogues(const Stmt& stmt, const StoragePlan& plan, std::int64_t register_bytes);

}  // namespace tilewright::emit
