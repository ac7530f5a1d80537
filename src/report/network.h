#pragma once

#include <string>

#include "src/compiler/plan/plan.h"
#include "src/report/document.h"

namespace tilewright::report {

/// A planned network, step by step. Times are those of the document's tasks where it has them
/// (measured alone, not within the network). Others are estimated: what the roofline says, times
/// how far the default configs of the document's tasks are from theirs; of what has no arithmetic
/// the bytes at the speed of far memory. What a step without a record of its own costs is what
/// tuned tasks have gained (the median), or what a near hit says of itself. With no peaks of the
/// device in the document there are no estimates.
NetworkPage NetworkOf(const Plan& plan, const std::string& graph, const Document& document);

}  // namespace tilewright::report
