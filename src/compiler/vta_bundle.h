#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Writes a plan as a folder (made if it is missing; its parent must be there):
///   graph.relay        the optimized graph with its weights,
///   kernels.json       the target, and of each kernel workload, epilogue, config and why,
///   streams/<n>.vta    its stream, as vta::WriteStreamFile makes it.
/// Which operators run on the accelerator follows: those that there is a stream for.
/// Errors: kUnavailable if the folder cannot be written; kUnsupported for an operator that Relay
///         text lacks.
Status WriteVtaBundle(const Plan& plan, const std::string& folder);

/// The text of its kernels.json.
std::string VtaBundleIndex(const Plan& plan);

/// What a kernels.json says: the plan but for its graph, its steps and the streams of its kernels.
/// Errors: kInvalidArgument naming the field, or line and column of what is no JSON; those of
///         VtaTargetOf.
Result<Plan> ParseVtaBundleIndex(std::string_view text);

/// Reads such a folder.
/// Errors: kNotFound if it is none; kInvalidArgument naming the file, and what is wrong with it: a
///         stream for another design, or for operators that the graph has not.
Result<Plan> ReadVtaBundle(const std::string& folder);

}  // namespace tilewright
