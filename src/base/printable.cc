// Escapes text from other sources for terminals and pages: control characters, line ends, direction
// marks, zero-width characters, and bytes that are not UTF-8.

#include "src/base/printable.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "src/base/text/utf8.h"

namespace tilewright {
namespace {

/// Ranges of code points that a terminal or a page interprets instead of displaying.
constexpr std::pair<std::uint32_t, std::uint32_t> kControlRanges[] = {
    {0x00, 0x1f},        // C0
    {0x7f, 0x9f},        // delete, C1
    {0x61c, 0x61c},      // Arabic letter mark
    {0x200b, 0x200b},    // zero-width space
    {0x200e, 0x200f},    // direction marks
    {0x2028, 0x202e},    // line and paragraph separators, direction embeddings and overrides
    {0x2060, 0x206f},    // joiner, isolates, deprecated formats
    {0xfeff, 0xfeff},    // byte order mark
    {0xfff9, 0xfffb},    // annotations
    {0xe0000, 0xe007f},  // tags
};

bool IsControl(std::uint32_t code) {
  return std::ranges::any_of(kControlRanges, [code](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

std::string Hex(const char* format, std::uint32_t number) {
  char text[16];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

std::string Escaped(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  if (code < 0x80) return Hex("\\x%02x", code);
  return code < 0x10000 ? Hex("\\u%04x", code) : Hex("\\U%08x", code);
}

}  // namespace

Utf8Character FirstCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, first};
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return {};
  constexpr std::uint32_t kLeadBits[] = {0, 0, 0x1f, 0x0f, 0x07};
  // Smaller values have shorter encodings: a decoder that accepts overlong ones would see other
  // characters.
  constexpr std::uint32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  std::uint32_t code = first & kLeadBits[length];
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code = code << 6 | (byte & 0x3fU);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kMin[length] || surrogate || code > 0x10ffff) return {};
  return {length, code};
}

std::string Printable(std::string_view text, bool lines) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    if (character.length == 0) {
      shown += Hex("\\x%02x", static_cast<unsigned char>(text.front()));
    } else if (IsControl(character.code) && !(lines && (text[0] == '\n' || text[0] == '\t'))) {
      shown += Escaped(character.code);
    } else {
      shown += text.substr(0, character.length);
    }
    text.remove_prefix(std::max(character.length, std::size_t{1}));
  }
  return shown;
}

std::string EscapeControls(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  while (!json.empty()) {
    const Utf8Character character = FirstCharacter(json);
    const std::size_t length = std::max(character.length, std::size_t{1});
    if (character.length == 0 || !IsControl(character.code) || json.front() == '\n') {
      escaped += json.substr(0, length);
    } else if (character.code < 0x10000) {
      escaped += Hex("\\u%04x", character.code);
    } else {
      const std::uint32_t rest = character.code - 0x10000;
      escaped += Hex("\\u%04x", 0xd800 + (rest >> 10)) + Hex("\\u%04x", 0xdc00 + (rest & 0x3ff));
    }
    json.remove_prefix(length);
  }
  return escaped;
}

bool IsPrintable(std::string_view text) { return Printable(text) == text; }

}  // namespace tilewright
