#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::relay {

enum class TokenKind : std::uint8_t {
  kEnd,
  kString,  ///< including its quotes
  kNumber,  ///< including its suffix
  kValue,   ///< %name
  kGlobal,  ///< @name
  kName,
  kPunctuation,  ///< one character, or "->"
  kComment,      ///< /* … */ including its delimiters
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::size_t offset = 0;
  std::size_t end() const { return offset + text.size(); }
};

/// Tokenizer of a text. The text must outlive the lexer.
class Lexer {
 public:
  /// Reads [begin, end) of `text`. Positions refer to the whole text.
  Lexer(std::string_view text, std::size_t begin, std::size_t end)
      : text_(text.substr(0, end)), position_(begin) {}
  /// Returns the next token.
  /// Returns kInvalidArgument with the position for a character that starts no token, an
  /// unterminated string or comment, and "..." (texts that were abbreviated by hand).
  Result<Token> Next();

 private:
  char At(std::size_t position) const { return position < text_.size() ? text_[position] : '\0'; }
  Token Take(TokenKind kind, std::size_t end);
  std::size_t EndOfNumber(std::size_t position) const;

  std::string_view text_;
  std::size_t position_;
};

}  // namespace tilewright::relay
