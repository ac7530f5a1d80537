#pragma once

#include <functional>

#include "src/compiler/plan/choose_kernel.h"
#include "src/templates/registry.h"

namespace tilewright {

// Parts of choosing a kernel that only a VTA needs.

/// Errors: kInvalidArgument if the target is no VTA, or its design's widths are not 8 bits.
Status CheckDesign(const Target& target);

/// Errors: kUnsupported with the reason why no stream computes the workload.
Status CheckServedByVta(const Workload& workload, const CompileOptions& options);

/// Returns the record that AutoTVM would use, of a board with exactly the target's design. The
/// record is imported; its source is its file and line. request: by AutoTVM's rule.
/// Errors: those of the catalog.
Result<records::CatalogAnswer> QueryBoardRecords(records::LookupRequest request,
                                                 records::Catalog& catalog);

/// Returns the best config with a stream that builds, among those that differ from `config` in one
/// knob. A config that was tuned with another epilogue may need slightly more memory than the
/// design has.
/// Errors: kUnsupported if no neighbor builds.
Result<KernelChoice> BestNeighbor(const TemplateEntry& entry, const Config& config,
                                  const Workload& workload, const Target& target,
                                  const std::function<Result<KernelChoice>(const Config&)>& build);

}  // namespace tilewright
