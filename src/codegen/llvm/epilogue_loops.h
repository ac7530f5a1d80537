#pragma once

#include "src/codegen/llvm/storage_plan.h"
#include "src/ir/stmt.h"

namespace tilewright::emit {

/// Returns the statement with loops instead of straight-line code where an epilogue with long
/// functions (exp, tanh and the like) reads a register tile after its sum. The tile is copied to
/// memory, and one loop iterates over it. The polynomials then occur once in the code instead of
/// once per register; the copy costs less than the spills among them. The same is done if the
/// vectors of a tile that fits into `register_bytes` are stored transposed: each block of them
/// takes at least as many shuffles as it has vectors.
///
/// `plan` is the storage plan of `stmt`. Returns `stmt` itself if it has no such loop; a changed
/// statement needs a new plan.
Stmt RollEpilogues(const Stmt& stmt, const StoragePlan& plan, std::int64_t register_bytes);

}  // namespace tilewright::emit
