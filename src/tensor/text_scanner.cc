#include "src/tensor/text_scanner.h"

#include <fmt/format.h>

#include "src/base/strings.h"

namespace tilewright {
namespace {

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

}  // namespace

bool TextScanner::Accept(std::string_view token) {
  if (text_.substr(position_, token.size()) != token) return false;
  position_ += token.size();
  return true;
}

Status TextScanner::Expect(std::string_view token) {
  if (Accept(token)) return {};
  return Error(fmt::format("'{}'", token));
}

std::string_view TextScanner::Word() {
  const std::size_t begin = position_;
  while (!AtEnd() && IsWordCharacter(Peek())) ++position_;
  return text_.substr(begin, position_ - begin);
}

std::string_view TextScanner::Until(std::string_view stops) {
  const std::size_t begin = position_;
  while (!AtEnd() && stops.find(Peek()) == std::string_view::npos) ++position_;
  return text_.substr(begin, position_ - begin);
}

Result<std::int64_t> TextScanner::Int() {
  const std::size_t begin = position_;
  if (Peek() == '-') ++position_;
  while (Peek() >= '0' && Peek() <= '9') ++position_;
  auto value = ParseInt64(text_.substr(begin, position_ - begin));
  if (value.ok()) return value;
  position_ = begin;
  return Error("an integer");
}

Result<double> TextScanner::Number() {
  const std::size_t begin = position_;
  auto value = ParseDouble(Until(",;:()[] "));
  if (value.ok()) return value;
  position_ = begin;
  return Error("a number");
}

void TextScanner::SkipSpaces() {
  while (Peek() == ' ' || Peek() == '\t' || Peek() == '\n' || Peek() == '\r') ++position_;
}

Status TextScanner::Error(std::string_view expected) const {
  constexpr std::size_t kShown = 200;  // enough to recognize the text, short enough for a log line
  const std::string shown(text_.substr(0, kShown));
  return InvalidArgument(fmt::format("{} '{}{}': position {}: expected {}", what_, shown,
                                     text_.size() > kShown ? "..." : "", position_, expected));
}

Result<DataType> TextScanner::ElementType() {
  const TextScanner before = *this;
  auto dtype = ParseDataType(Word());
  if (dtype.ok()) return dtype;
  return before.Error("an element type such as float32");
}

}  // namespace tilewright
