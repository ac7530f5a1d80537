#pragma once

#include <string>

#include "src/report/document.h"

namespace tilewright::report {

/// Returns the short form of a report. For each job: the gain, failures with the command that
/// reproduces each, and the time budget; the tasks as a table; the comparison and the network's
/// coverage if present; the data that stores lack. width: of tables, in columns; 0: no limit,
/// nothing is cut.
std::string ToText(const Document& document, int width = 80);

}  // namespace tilewright::report
