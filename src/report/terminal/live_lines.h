#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/report/tune/text.h"

namespace tilewright::report {

/// Size of a terminal.
struct TerminalSize {
  int columns = 80, rows = 24;
  friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};
/// Returns the present size of the terminal behind a file descriptor; the default if it is unknown.
TerminalSize SizeOfTerminal(int descriptor);
/// Returns the same of the terminal behind standard error.
TerminalSize SizeOfErrorTerminal();

/// Value of --color.
enum class ColorMode : std::uint8_t { kAuto, kAlways, kNever };
/// Returns whether standard error gets colours: with kAuto if it is a terminal other than "dumb"
/// and the variable NO_COLOR is empty or unset.
bool UsesColor(ColorMode mode);

/// Returns whether the terminal breaks lines that are too long after it was made narrower, as most
/// do. xterm, rxvt, GNU screen and the Linux console cut them.
bool TerminalRewraps();

/// Lines at the bottom of a terminal on standard error that are redrawn in place. Every line is cut
/// to the terminal's width. Messages (print.h) are printed above the lines, which the next Draw
/// draws again. At most one object exists at a time. Thread-safe.
class LiveLines {
 public:
  using Size = std::function<TerminalSize()>;
  /// size: called before each drawing. rewraps: see TerminalRewraps.
  LiveLines(Size size, bool rewraps, bool color);
  LiveLines(const LiveLines&) = delete;
  LiveLines& operator=(const LiveLines&) = delete;
  /// Leaves the lines on the terminal.
  ~LiveLines();

  /// Replaces the lines. At most the terminal's rows less one are drawn, the last ones.
  void Draw(const std::vector<StyledLine>& lines);
  /// Removes the lines.
  void Clear();
  /// Leaves the lines on the terminal; later ones are drawn below them.
  void Keep();
  /// Returns whether the terminal's size differs from that of the last drawing.
  bool resized() const;
  TerminalSize size() const { return size_(); }

 private:
  friend void WriteAboveLiveLines(std::string_view text);
  /// Returns the rows that the lines occupy on the terminal.
  int RowsOfLines(const TerminalSize& size) const;
  /// Returns the sequence that moves the cursor to the first column of the first line.
  std::string ToFirstLine(const TerminalSize& size) const;
  void ClearNow();

  const Size size_;
  const bool rewraps_, color_;
  TerminalSize drawn_size_;
  std::vector<int> drawn_;  // columns of each line on the terminal
};

/// Writes a message to standard error, above the live lines if there are any.
void WriteAboveLiveLines(std::string_view text);

}  // namespace tilewright::report
