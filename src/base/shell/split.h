#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Splits a command line into words: blanks separate them, '…' and "…" quote, a backslash takes the
/// next character as it is. Nothing is expanded.
/// Errors: kInvalidArgument for an open quotation mark, no word at all, and for an unquoted
/// character that only a shell could follow (| & ; < > ` $).
Result<std::vector<std::string>> SplitCommandLine(std::string_view text);

}  // namespace tilewright
