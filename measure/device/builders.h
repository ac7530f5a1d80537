#pragma once

#include <string>
#include <utility>

#include "measure/messages.h"
#include "src/templates/registry.h"

// Builders of candidates, one for each artifact format. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Result of a build, or the reason for its failure.
struct BuildResult {
  Outcome outcome = Outcome::kOk;
  std::string reason = {};
  KernelSpec kernel = {};
  FaultDomain fault_domain = FaultDomain::kCandidate;
};

/// Result for a rejected candidate: `invalid`, or `build_failed` if the status reports an internal
/// failure.
BuildResult InvalidCandidate(const Status& status);
/// Result that is always `build_failed`.
BuildResult BuildFailure(const Status& status);

/// Returns the part of a candidate's kernel specification that does not depend on its build.
KernelSpec KernelOf(const Candidate& candidate);

/// Builds an order's candidate in its device's artifact format and writes the artifact to
/// order.path. entry: the candidate's template.
BuildResult BuildFor(const TemplateEntry& entry, const BuildOrder& order);

}  // namespace tilewright::measure
