#pragma once

#include "src/ir/stmt.h"
#include "src/schedule/schedule.h"

namespace tilewright {

/// Expects the loop summary, which is computed without lowering, to have the shared bytes of each
/// launch of the lowered program.
void ExpectSharedBytes(const Schedule& schedule, const Program& program);

}  // namespace tilewright
