#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/ir/dtype.h"

namespace tilewright {

/// Scanner of a one-line text from left to right. Errors name the text and the position (from 0) of
/// the unexpected character.
class TextScanner {
 public:
  /// what: name of the kind of text in messages. The text must outlive the scanner.
  TextScanner(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  bool AtEnd() const { return position_ == text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[position_]; }
  /// Skips `token` if it comes next.
  bool Accept(std::string_view token);
  Status Expect(std::string_view token);
  /// Reads letters, digits, underscores and dots; may return empty text.
  std::string_view Word();
  /// Reads up to the first of `stops` (exclusive) or the end.
  std::string_view Until(std::string_view stops);
  Result<std::int64_t> Int();
  Result<double> Number();
  /// Reads the name of an element type, such as float32.
  Result<DataType> ElementType();
  void SkipSpaces();
  /// Returns kInvalidArgument: "<what> '<text>': position <n>: expected <expected>".
  Status Error(std::string_view expected) const;

 private:
  std::string_view what_;
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace tilewright
