#pragma once

#include <string>

#include "src/report/document.h"

namespace tilewright::report {

/// The short form: of each job what was gained, what failed with the command that does it again,
/// where the time went; the tasks as a table; the comparison and the network's coverage if there
/// are any; what stores lack. Lines for a terminal of a hundred columns.
std::string ToText(const Document& document);

}  // namespace tilewright::report
