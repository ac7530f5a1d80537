#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright {

/// Returns text from a file, escaped for a terminal or a page. Characters that are interpreted
/// instead of displayed (controls, line ends, tabs, direction marks, zero-width characters) and
/// bytes that are not UTF-8 become escapes: `\n`, `\x1b`, `\u202e`. lines: keep line ends and tabs.
std::string Printable(std::string_view text, bool lines = false);

/// Returns true if Printable does not change the text.
bool IsPrintable(std::string_view text);

/// Escapes the same characters in the strings of a JSON text; the value stays the same.
std::string EscapeControls(std::string_view json);

}  // namespace tilewright
