#include "src/graph/relay/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/graph/relay/syntax.h"

namespace tilewright::relay {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsLetter(c) || IsDigit(c) || c == '.'; }
bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

std::string PlaceOf(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const auto before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n');
  const std::size_t column =
      line_start == std::string_view::npos ? offset : offset - line_start - 1;
  return fmt::format("line {}, column {}", line, column + 1);
}

Token Lexer::Take(TokenKind kind, std::size_t end) {
  const Token token{kind, text_.substr(position_, end - position_), position_};
  position_ = end;
  return token;
}

std::size_t Lexer::EndOfNumber(std::size_t position) const {
  if (At(position) == '-') ++position;
  while (IsDigit(At(position))) ++position;
  if (At(position) == '.' && IsDigit(At(position + 1))) {
    ++position;
    while (IsDigit(At(position))) ++position;
  }
  if (At(position) == 'e') {
    std::size_t exponent = position + 1;
    if (At(exponent) == '-' || At(exponent) == '+') ++exponent;
    if (IsDigit(At(exponent))) {
      position = exponent;
      while (IsDigit(At(position))) ++position;
    }
  }
  while (IsLetter(At(position)) || IsDigit(At(position))) ++position;  // suffix: f, i64, …
  return position;
}

Result<Token> Lexer::Next() {
  while (position_ < text_.size() && IsBlank(text_[position_])) ++position_;
  if (position_ >= text_.size()) return Token{TokenKind::kEnd, {}, text_.size()};
  const char c = text_[position_];
  const auto fail = [&](std::string message) {
    return InvalidArgument(PlaceOf(text_, position_) + ": " + std::move(message));
  };
  if (c == '/' && At(position_ + 1) == '*') {
    const std::size_t close = text_.find("*/", position_ + 2);
    if (close == std::string_view::npos) return fail("comment without end, expected \"*/\"");
    return Take(TokenKind::kComment, close + 2);
  }
  if (c == '"' || c == '\'') {
    std::size_t end = position_ + 1;
    while (end < text_.size() && text_[end] != c) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return fail(fmt::format("string without end, expected {}", c));
    return Take(TokenKind::kString, end + 1);
  }
  if (IsDigit(c) || (c == '-' && IsDigit(At(position_ + 1)))) {
    return Take(TokenKind::kNumber, EndOfNumber(position_));
  }
  if (c == '%' || c == '@' || IsLetter(c)) {
    std::size_t end = position_ + 1;
    while (IsNamePart(At(end))) ++end;
    if (end == position_ + 1 && !IsLetter(c))
      return fail(fmt::format("expected a name after {}", c));
    return Take(c == '%'   ? TokenKind::kValue
                : c == '@' ? TokenKind::kGlobal
                           : TokenKind::kName,
                end);
  }
  if (c == '-' && At(position_ + 1) == '>') return Take(TokenKind::kPunctuation, position_ + 2);
  if (std::string_view("()[]{}<>,;:=?#").find(c) != std::string_view::npos) {
    return Take(TokenKind::kPunctuation, position_ + 1);
  }
  if (text_.substr(position_, 3) == "...") {
    return fail("\"...\" marks omitted lines; expected a complete listing");
  }
  if (c >= ' ' && c <= '~') return fail(fmt::format("'{}' starts no token", c));
  return fail(fmt::format("byte 0x{:02x} starts no token", static_cast<unsigned char>(c)));
}

}  // namespace tilewright::relay
