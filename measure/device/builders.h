#pragma once

#include <string>
#include <utility>

#include "measure/messages.h"
#include "src/templates/registry.h"

// How candidates are built, in each form that code has. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// What a build gave, or why it did not.
struct BuildResult {
  Outcome outcome = Outcome::kOk;
  std::string reason = {};
  KernelSpec kernel = {};
  FaultDomain fault_domain = FaultDomain::kCandidate;
};

/// A refusal of the candidate is `invalid`; a failure of ours is `build_failed`.
BuildResult InvalidCandidate(const Status& status);
/// Always `build_failed`.
BuildResult BuildFailure(const Status& status);

/// What is known of a candidate's kernel before it is built.
KernelSpec KernelOf(const Candidate& candidate);

/// Builds an order's candidate in the form of its device's code, and writes its artifact to
/// order.path.
/// entry: its template.
BuildResult BuildFor(const TemplateEntry& entry, const BuildOrder& order);

}  // namespace tilewright::measure
