#pragma once

#include "src/ir/stmt.h"
#include "src/schedule/schedule.h"

namespace tilewright {

/// The loop summary, which is made without lowering, has to know the shared bytes of each launch of
/// the program that lowering makes.
void ExpectSharedBytes(const Schedule& schedule, const Program& program);

}  // namespace tilewright
