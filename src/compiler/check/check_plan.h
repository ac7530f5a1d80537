#pragma once

#include <string>

#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Returns the name of a step for messages: "node 3 'head' (Conv) (conv2d + relu)", or, if the
/// source has no nodes, with the value that the step computes: "%5 (conv2d)".
std::string NameOfStep(const Graph& graph, const PlanStep& step);

/// Checks the invariants of a plan. Each tensor of a step is a buffer of exactly its bytes. Each
/// result has the bytes of its type and layout. Each buffer is inside of its memory. No step reads
/// bytes that are unwritten or overwritten. Every output is written. Takes next to no time.
/// Errors: kInternal naming the value, the finding and the expectation.
Status CheckPlan(const Plan& plan);

}  // namespace tilewright
