#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/report/document.h"

namespace tilewright::report {

/// A table of scripts/bench.sh (table.json; docs/measured.md has its form). Members that it does
/// not know are passed over. file: for the page and for messages. Errors: kInvalidArgument with the
/// file, the place, and what was expected there; kUnsupported for a
///         form of another number.
Result<BenchPage> ParseBenchTable(std::string_view text, const std::string& file);

}  // namespace tilewright::report
