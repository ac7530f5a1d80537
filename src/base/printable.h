#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright {

/// Text from a file as a terminal or a page may show it. Characters that are obeyed instead of
/// shown (controls, ends of lines, tabs, marks of direction, characters without width) and bytes
/// that are no UTF-8 become escapes: `\n`, `\x1b`, `\u202e`. lines: keep ends of lines and tabs.
std::string Printable(std::string_view text, bool lines = false);

/// Whether Printable leaves the text as it is.
bool IsPrintable(std::string_view text);

/// The text of a JSON value with the same characters in its strings escaped: the same value.
std::string EscapeControls(std::string_view json);

}  // namespace tilewright
