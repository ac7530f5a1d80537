#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/ir/dtype.h"

namespace tilewright {

/// Reads a one-line text from left to right. Errors name the text and the position (from 0) that
/// was not understood.
class TextScanner {
 public:
  /// what: names the kind of text in messages. The text must outlive the scanner.
  TextScanner(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  bool AtEnd() const { return position_ == text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[position_]; }
  /// Steps over `token` if it comes next.
  bool Accept(std::string_view token);
  Status Expect(std::string_view token);
  /// Letters, digits, underscores and dots; may be empty.
  std::string_view Word();
  /// Everything up to the first of `stops` (not read) or the end.
  std::string_view Until(std::string_view stops);
  Result<std::int64_t> Int();
  Result<double> Number();
  /// An element type by its name, such as float32.
  Result<DataType> ElementType();
  void SkipSpaces();
  /// kInvalidArgument: "<what> '<text>': position <n>: expected <expected>".
  Status Error(std::string_view expected) const;

 private:
  std::string_view what_;
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace tilewright
