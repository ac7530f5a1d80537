#include "src/templates/text/scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::size_t AfterBlanks(std::string_view text, std::size_t position) {
  while (position < text.size()) {
    const char c = text[position];
    if (c == '#') {
      while (position < text.size() && text[position] != '\n') ++position;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++position;
    } else {
      return position;
    }
  }
  return position;
}

}  // namespace

Result<ScheduleToken> NextScheduleToken(const ScheduleText& schedule, std::size_t& position) {
  const std::string_view text = schedule.source;
  const auto error = [&](std::size_t offset, std::string_view what) {
    return InvalidArgument(AtOffset(schedule, offset, what));
  };
  const std::size_t begin = AfterBlanks(text, position);
  position = begin;
  if (begin == text.size()) return ScheduleToken{ScheduleTokenKind::kEnd, {}, begin};
  const char c = text[begin];
  std::size_t end = begin + 1;
  if (c == '"') {
    while (end < text.size() && text[end] != '"') {
      if (text[end] < ' ' || text[end] > '~' || text[end] == '\\') {
        return error(end, "a character that no text in quotes has");
      }
      ++end;
    }
    if (end == text.size()) return error(begin, "a text without its second '\"'");
    position = end + 1;
    return ScheduleToken{ScheduleTokenKind::kText, text.substr(begin + 1, end - begin - 1), begin};
  }
  ScheduleTokenKind kind = ScheduleTokenKind::kPunctuation;
  if (IsLetter(c)) {
    kind = ScheduleTokenKind::kName;
    while (end < text.size() && (IsLetter(text[end]) || IsDigit(text[end]))) ++end;
  } else if (IsDigit(c)) {
    kind = ScheduleTokenKind::kInteger;
    while (end < text.size() && IsDigit(text[end])) ++end;
  } else {
    constexpr std::array<std::string_view, 4> kTwo = {"<=", ">=", "==", "!="};
    if (std::ranges::count(kTwo, text.substr(begin, 2)) > 0) end = begin + 2;
    const bool alone = end == begin + 1;
    if (alone && std::string_view("()[]{},=+-*/%<>").find(c) == std::string_view::npos) {
      return error(begin, fmt::format("character {} has no meaning here",
                                      static_cast<int>(static_cast<unsigned char>(c))));
    }
  }
  position = end;
  return ScheduleToken{kind, text.substr(begin, end - begin), begin};
}

}  // namespace tilewright
