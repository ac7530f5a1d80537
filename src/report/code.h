#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "src/report/document.h"
#include "src/space/trial.h"
#include "src/templates/registry.h"

namespace tilewright::report {

/// Returns the first and last line (from 1) of the hot loop of an assembly listing: the innermost
/// loop with the most multiply-adds, or if there are none, with the most instructions.
/// {0, 0}: no loop.
std::pair<std::int64_t, std::int64_t> HotLoop(std::string_view assembly);

/// Returns the loops of a trial's config, and with `assembly` its machine code. If the config
/// cannot be lowered (for example, its template no longer exists), CodeListing::loops contains the
/// reason.
CodeListing ListingOf(const TemplateRegistry& templates, const Trial& trial, std::string title,
                      bool assembly);

}  // namespace tilewright::report
