#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright {

/// Text from a file as it may be shown: what a terminal obeys (control characters, the eight-bit
/// ones of UTF-8 too) and what is no UTF-8 becomes `?`; so does the end of a line and a tab unless
/// `lines`.
std::string Printable(std::string_view text, bool lines = false);

/// Whether Printable leaves the text as it is.
bool IsPrintable(std::string_view text);

/// The text of a JSON value with what a terminal obeys in its strings escaped: the same value.
std::string EscapeControls(std::string_view json);

}  // namespace tilewright
