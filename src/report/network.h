#pragma once

#include <string>

#include "src/compiler/plan/plan.h"
#include "src/report/document.h"

namespace tilewright::report {

/// Returns a planned network, step by step. A step whose task the document contains has that task's
/// time (measured alone, not within the network). Other times are estimated. With arithmetic: the
/// roofline, multiplied by the ratio of the default configs of the document's tasks to theirs.
/// Without: the bytes at the speed of the last-level memory. A step without a record of its own
/// costs in addition the median gain of tuned tasks, or the slowdown that a near match expects. If
/// the document has no peaks of the device, there are no estimates.
NetworkPage NetworkOf(const Plan& plan, const std::string& graph, const Document& document);

}  // namespace tilewright::report
