#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::report {

/// Screen of a terminal that interprets what a program writes: text in UTF-8, ends of lines, cursor
/// movement up, erasing, and switching automatic wrapping. Unknown sequences are errors.
class Screen {
 public:
  /// rewraps: breaks and joins lines when the width changes, as most terminals; otherwise cuts
  /// them.
  Screen(int columns, int rows, bool rewraps);

  void Write(std::string_view bytes);
  void Resize(int columns, int rows);

  /// Returns the lines of the screen, without blanks and empty lines at the end.
  std::vector<std::string> Lines() const;
  /// Returns Lines as one text.
  std::string Text() const;
  /// Returns all lines, including those that have left the screen at the top.
  std::vector<std::string> AllLines() const;
  /// Number of lines that were wrapped because a text was too long when it was written.
  int wrapped() const { return wrapped_; }
  /// Number of characters that were written over the last column because wrapping was off.
  int overwritten() const { return overwritten_; }
  /// Sequences that this screen does not know.
  const std::string& unknown() const { return unknown_; }

 private:
  struct Row {
    std::vector<std::string> cells;  // a character of two columns is followed by an empty text
    bool continues = false;          // in the next row, by wrapping
  };
  static std::string TextOf(const Row& row);
  Row& RowNow();
  void LineFeed();
  void Put(std::string_view character, int width);
  void Control(std::string_view sequence);
  void Rewrap(int columns);
  int top() const { return top_; }

  int columns_, height_;
  bool rewraps_, wraps_ = true;
  std::vector<Row> rows_;  // from the first line ever written
  int top_ = 0;            // the first row on the screen
  int row_ = 0, column_ = 0;
  int wrapped_ = 0, overwritten_ = 0;
  std::string unknown_, pending_;
};

}  // namespace tilewright::report
