#pragma once

#include "src/compiler/plan/plan.h"

namespace tilewright {

/// What must hold of every plan, whatever made it: each tensor that a step takes is a buffer of
/// exactly its bytes, each result has the bytes that its type and its form take, every place lies
/// inside of its memory, nothing is read that was not written, or that something else was written
/// over since, and every output is written. Takes next to no time.
/// Errors: kInternal naming the value, what was found and what was expected.
Status CheckPlan(const Plan& plan);

}  // namespace tilewright
