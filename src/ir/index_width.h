#pragma once

#include "src/ir/stmt.h"

namespace tilewright {

/// Returns true if 64-bit arithmetic in the statement may leave half the range of 32 bits: of loop
/// variables, or of loaded numbers, whose bounds are unknown. Code with 32-bit indices is then
/// wrong, also if the result of the whole expression is small.
bool LeavesInt32(const Stmt& stmt);

}  // namespace tilewright
