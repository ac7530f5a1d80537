#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// Returns a text as one word of a POSIX shell, in quotation marks.
std::string ShellQuoted(std::string_view text);
/// As ShellQuoted; a text that needs no quotation marks is returned unchanged.
std::string ShellWord(std::string_view text);

}  // namespace tilewright
