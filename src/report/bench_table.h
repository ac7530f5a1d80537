#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/report/document.h"

namespace tilewright::report {

/// Parses a table of scripts/bench.sh (table.json; docs/measured.md describes its format). Unknown
/// members are ignored. file: for the page and for messages.
/// Errors: kInvalidArgument with the file, the position, and the expected value; kUnsupported for
/// another format number.
Result<BenchPage> ParseBenchTable(std::string_view text, const std::string& file);

}  // namespace tilewright::report
