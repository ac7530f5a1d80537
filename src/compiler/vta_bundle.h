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
/// The operators of the accelerator are those that have a stream.
/// Errors: kUnavailable if the folder cannot be written; kUnsupported for an operator that Relay
///         text lacks.
Status WriteVtaBundle(const Plan& plan, const std::string& folder);

/// Returns the text of the folder's kernels.json.
std::string VtaBundleIndex(const Plan& plan);

/// Parses a kernels.json into a plan without graph, steps and streams of its kernels.
/// Errors: kInvalidArgument naming the field, or line and column of invalid JSON; those of
/// VtaTargetOf.
Result<Plan> ParseVtaBundleIndex(std::string_view text);

/// Reads a folder of WriteVtaBundle.
/// Errors: kNotFound if it is no such folder; kInvalidArgument naming the file and the reason: a
/// stream for another design, or for operators that the graph does not have.
Result<Plan> ReadVtaBundle(const std::string& folder);

}  // namespace tilewright
