#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright {

/// Place of a value in a text for a POSIX shell.
enum class ShellPlace : std::uint8_t {
  kPlain,   ///< the value, quoted as a word, is one word or part of one
  kQuoted,  ///< in quotes, backquotes or a comment, or after a backslash
  kUnsure,  ///< after a construct that the scan does not follow
};

/// Value that is not plain.
struct UnsafeValue {
  ShellPlace place = ShellPlace::kPlain;  ///< kPlain: all values are plain
  std::size_t number = 0;                 ///< from 0
};

/// Finds the first value of a text that is not plain. Each value is a zero byte in the text. The
/// scan follows quotes, backslashes, comments, and expansions in quotes that contain no quotes. It
/// ends at a here-document, at $'…', and at other expansions in quotes: later values are unsure.
UnsafeValue FindUnsafeValue(std::string_view text);

}  // namespace tilewright
