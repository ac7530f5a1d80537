#pragma once

#include <string>

#include "src/report/document.h"

namespace tilewright::report {

/// Returns the short form of a report. For each job: the gain, failures with the command that
/// reproduces each, and the time budget; the tasks as a table; the comparison and the network's
/// coverage if present; the data that stores lack. Lines fit a terminal of a hundred columns.
std::string ToText(const Document& document);

}  // namespace tilewright::report
