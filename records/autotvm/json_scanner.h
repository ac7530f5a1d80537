#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/autotvm/value.h"
#include "src/base/status.h"

namespace tilewright::records {

/// Scanner that reads one JSON text from left to right without building a tree, so that logs of
/// millions of lines stay cheap. Accepts `NaN`, `Infinity` and `-Infinity`, which AutoTVM's writer
/// may write. After the first error every call returns at once, and status() reports what was
/// expected and where.
///
/// The text must outlive the scanner and every view that the scanner returned.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  bool ok() const { return expected_ == nullptr; }
  /// Returns the first error: kInvalidArgument "column <n>: expected <what>", columns from 1.
  Status status() const;
  /// Records an error at the current position unless one is recorded already. `expected` must be a
  /// literal: the scanner stores its address.
  void Fail(const char* expected);

  /// Skips spaces and returns the next character; 0 at the end.
  char Peek() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
    return at_ == end_ ? '\0' : *at_;
  }
  bool Accept(char c) {
    if (Peek() != c || at_ == end_) return false;
    ++at_;
    return true;
  }
  bool Expect(char c) { return Accept(c) || FailFor(c); }
  /// Iterates over the items of a list or object after its opening bracket: `for (bool first =
  /// true; s.More(first, ']');) …`
  bool More(bool& first, char close);
  /// Reads the key of an object's item and the colon after it. Keys with escapes are an error.
  std::string_view Key();
  /// Reads a string without escapes.
  std::string_view PlainText();
  /// Reads a string and resolves its escapes.
  std::string Text();
  std::int64_t Integer();
  double Number();
  /// Skips the word (null, true, false) and returns true if it comes next.
  bool AcceptWord(std::string_view word);
  /// Skips one value of any kind and returns its text. Checks that brackets match, and nothing
  /// else.
  std::string_view Skip();
  /// Reads one value as a tree. Objects are an error.
  AutotvmValue Value(int depth = 0);
  bool AtEnd() { return Peek() == 0; }

 private:
  std::string_view RawText(bool* escaped);
  AutotvmValue List(int depth);
  /// Records that character `c` is missing. Returns false.
  bool FailFor(char c);

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* expected_ = nullptr;
  const char* failed_at_ = nullptr;
};

}  // namespace tilewright::records
