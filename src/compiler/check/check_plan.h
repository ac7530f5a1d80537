#pragma once

#include <string>

#include "src/compiler/plan/plan.h"

namespace tilewright {

/// A step for messages: "node 3 'head' (Conv) (conv2d + relu)", or by the value that it makes where
/// the source has no nodes: "%5 (conv2d)".
std::string NameOfStep(const Graph& graph, const PlanStep& step);

/// What must hold of every plan, whatever made it: each tensor that a step takes is a buffer of
/// exactly its bytes, each result has the bytes that its type and its form take, every place lies
/// inside of its memory, nothing is read that was not written, or that something else was written
/// over since, and every output is written. Takes next to no time.
/// Errors: kInternal naming the value, what was found and what was expected.
Status CheckPlan(const Plan& plan);

}  // namespace tilewright
