#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "records/autotvm/value.h"
#include "src/base/status.h"

namespace tilewright::records {

/// Reads one JSON text from left to right without building a tree: what a log of a million lines
/// can afford. Accepts `NaN`, `Infinity` and `-Infinity`, which AutoTVM's writer may leave. After
/// the first error every call returns at once and status() says what was expected where.
///
/// The text must outlive the scanner and every view it returned.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  bool ok() const { return expected_ == nullptr; }
  /// kInvalidArgument: "column <n>: expected <what>", columns from 1.
  Status status() const;
  /// Records an error at the current position, unless there is one already. `expected` must be a
  /// literal: it is kept by address.
  void Fail(const char* expected);

  /// Next character that is no space; 0 at the end.
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
  /// Steps through the items of a list or an object after its opening bracket:
  /// `for (bool first = true; s.More(first, ']');) …`
  bool More(bool& first, char close);
  /// Key of an object's item, with the colon behind it. Keys with escapes are an error.
  std::string_view Key();
  /// A text without escapes.
  std::string_view PlainText();
  /// A text with its escapes resolved.
  std::string Text();
  std::int64_t Integer();
  double Number();
  /// True and stepped over if the word (null, true, false) comes next.
  bool AcceptWord(std::string_view word);
  /// Steps over one value of any kind. returns its text; brackets match, but nothing else in it is
  /// checked.
  std::string_view Skip();
  /// One value as a tree. Objects are an error.
  AutotvmValue Value(int depth = 0);
  bool AtEnd() { return Peek() == 0; }

 private:
  std::string_view RawText(bool* escaped);
  AutotvmValue List(int depth);
  /// Fails for want of a character; false.
  bool FailFor(char c);

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* expected_ = nullptr;
  const char* failed_at_ = nullptr;
};

}  // namespace tilewright::records
