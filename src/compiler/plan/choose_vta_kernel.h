#pragma once

#include <functional>

#include "src/compiler/plan/choose_kernel.h"
#include "src/templates/registry.h"

namespace tilewright {

// What choosing a kernel is for a VTA alone.

/// Errors: kInvalidArgument if the target is no VTA, or its design's widths are not 8 bits.
Status CheckDesign(const Target& target);

/// Errors: kUnsupported with the reason why no stream computes the workload.
Status CheckServedByVta(const Workload& workload, const CompileOptions& options);

/// The record AutoTVM would take, of a board of the very design that is asked for: an imported one,
/// whose source is its file and line. question: by AutoTVM's rule.
/// Errors: those of the catalog.
Result<records::CatalogAnswer> QueryBoardRecords(records::LookupRequest request,
                                                 records::Catalog& catalog);

/// Of the configs that differ from `config` in one knob, the best whose stream can be built: a
/// config that was tuned with another epilogue may take a little more room than there is.
/// Errors: kUnsupported if there is none.
Result<KernelChoice> BestNeighbor(const TemplateEntry& entry, const Config& config,
                                  const Workload& workload, const Target& target,
                                  const std::function<Result<KernelChoice>(const Config&)>& build);

}  // namespace tilewright
