#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "src/report/document.h"
#include "src/space/trial.h"
#include "src/templates/registry.h"

namespace tilewright::report {

/// First and last line (from 1) of the loop of an assembly listing that works hardest: of the loops
/// without another one in them, that with the most multiply-adds, else the most instructions.
/// {0, 0}: there is no loop.
std::pair<std::int64_t, std::int64_t> HotLoop(std::string_view assembly);

/// The loops of a trial's config, and with `assembly` its machine code. What cannot be made today
/// (its template is gone) says why in CodeListing::loops.
CodeListing ListingOf(const TemplateRegistry& templates, const Trial& trial, std::string title,
                      bool assembly);

}  // namespace tilewright::report
