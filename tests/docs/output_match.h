#pragma once

#include <string>
#include <vector>

namespace tilewright::docs {

/// Returns the line with runs of blanks as one blank, without blanks at its ends. vary: numbers
/// become "#" and the units of time after them "s", so that lines with other numbers are equal.
std::string NormalizedLine(const std::string& line, bool vary);

/// Returns whether the output of a command is what the page shows. In the expected lines "..."
/// stands for any text of a line, and a line of "..." alone for any number of lines.
bool OutputMatches(const std::vector<std::string>& expected, const std::vector<std::string>& actual,
                   bool vary);

}  // namespace tilewright::docs
