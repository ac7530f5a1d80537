#include "src/base/text/text_columns.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/base/text/utf8.h"

namespace tilewright {
namespace {

using Range = std::pair<std::uint32_t, std::uint32_t>;

/// Blocks of characters that terminals draw over the character before them.
constexpr Range kCombining[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
    {0x93c, 0x93c},   {0x941, 0x948},   {0xe34, 0xe3a},   {0xe47, 0xe4e},   {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x200c, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

/// Blocks of characters that terminals draw in two columns (East Asian Width W and F).
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x26a1, 0x26a1},   {0x26d4, 0x26d4},
    {0x2705, 0x2705},   {0x2728, 0x2728},   {0x274c, 0x274c},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},
    {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

bool IsIn(std::uint32_t code, const Range* begin, const Range* end) {
  return std::any_of(begin, end, [code](const Range& range) {
    return code >= range.first && code <= range.second;
  });
}

int ColumnsOf(std::uint32_t code) {
  if (code < 0x300) return 1;
  if (IsIn(code, std::begin(kCombining), std::end(kCombining))) return 0;
  return IsIn(code, std::begin(kWide), std::end(kWide)) ? 2 : 1;
}

/// Returns the bytes of the longest beginning that fits these columns. used: its columns.
std::size_t Fitting(std::string_view text, int columns, int& used) {
  used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8Character character = FirstCharacter(text.substr(at));
    const int width = character.length == 0 ? 1 : ColumnsOf(character.code);
    if (used + width > columns) return at;
    used += width;
    at += std::max<std::size_t>(1, character.length);
  }
  return at;
}

std::string Blanks(int count) {
  return std::string(static_cast<std::size_t>(std::max(0, count)), ' ');
}

}  // namespace

int Columns(std::string_view text) {
  int columns = 0;
  Fitting(text, static_cast<int>(text.size()) + 1, columns);
  return columns;
}

std::string CutToColumns(std::string_view text, int columns) {
  int used = 0;
  if (Fitting(text, columns, used) == text.size()) return std::string(text);
  if (columns <= 0) return {};
  return std::string(text.substr(0, Fitting(text, columns - 1, used))) + "…";
}

std::string PadToColumns(std::string_view text, int columns) {
  const std::string cut = CutToColumns(text, columns);
  return cut + Blanks(columns - Columns(cut));
}

std::string PadLeftToColumns(std::string_view text, int columns) {
  const std::string cut = CutToColumns(text, columns);
  return Blanks(columns - Columns(cut)) + cut;
}

std::vector<std::string> WrapToColumns(std::string_view text, int columns, int indent,
                                       std::string_view head) {
  std::vector<std::string> lines;
  std::string line(head);
  bool empty = true;  // of words
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!empty && Columns(line) + 1 + Columns(word) > columns) {
      lines.push_back(std::move(line));
      line = Blanks(indent);
      empty = true;
    }
    line += (empty ? "" : " ") + std::string(word);
    empty = false;
  }
  if (!empty || (lines.empty() && !head.empty())) lines.push_back(std::move(line));
  return lines;
}

}  // namespace tilewright
