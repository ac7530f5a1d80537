#include "src/base/printable.h"

#include <algorithm>
#include <cstdio>

namespace tilewright {
namespace {

/// Length of the UTF-8 character at the beginning of `text`; 0 if there is none.
std::size_t LengthOfCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

/// U+0000 to U+001F and U+007F to U+009F; and what turns the direction of a line, U+202A to U+202E
/// and U+2066 to U+2069.
bool IsControl(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (character.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (character.size() != 3 || byte(0) != 0xe2) return false;
  return (byte(1) == 0x80 && byte(2) >= 0xaa && byte(2) <= 0xae) ||
         (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);
}

/// Of what IsControl finds.
unsigned CodePointOf(std::string_view character) {
  constexpr unsigned kLeadBits[] = {0, 0x7f, 0x1f, 0x0f};
  unsigned code = static_cast<unsigned char>(character[0]) & kLeadBits[character.size()];
  for (const char byte : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3f);
  }
  return code;
}

}  // namespace

std::string Printable(std::string_view text, bool lines) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = LengthOfCharacter(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    const bool layout = lines && (character == "\n" || character == "\t");
    if (length == 0 || (IsControl(character) && !layout)) {
      shown += '?';
    } else {
      shown += character;
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

std::string EscapeControls(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  while (!json.empty()) {
    const std::string_view character =
        json.substr(0, std::max(LengthOfCharacter(json), std::size_t{1}));
    if (IsControl(character) && character != "\n") {
      char text[8];
      std::snprintf(text, sizeof text, "\\u%04x", CodePointOf(character));
      escaped += text;
    } else {
      escaped += character;
    }
    json.remove_prefix(character.size());
  }
  return escaped;
}

bool IsPrintable(std::string_view text) { return Printable(text) == text; }

}  // namespace tilewright
