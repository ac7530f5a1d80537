// Lines that are redrawn in place. After each drawing the cursor is in the first column below the
// last line. To draw again, it goes up by the number of rows that the lines occupy now: terminals
// that rewrap have broken lines that are longer than the present width. Automatic line wrapping is
// off while lines are drawn, so that a line never takes two rows, even if the terminal is made
// narrower at that moment.

#include "src/report/terminal/live_lines.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "src/base/text/text_columns.h"
#include "src/report/terminal/messages.h"

namespace tilewright::report {
namespace {

constexpr std::string_view kNoWrap = "\x1b[?7l", kWrap = "\x1b[?7h";
constexpr std::string_view kClearBelow = "\x1b[J", kClearRight = "\x1b[K", kReset = "\x1b[0m";

/// Guards the terminal and the object that has the lines.
std::mutex& TerminalMutex() {
  static std::mutex mutex;
  return mutex;
}
LiveLines* live_lines = nullptr;  // null: none

std::string_view SequenceOf(TextStyle style) {
  switch (style) {
    case TextStyle::kPlain:
      return "";
    case TextStyle::kDim:
      return "\x1b[2m";
    case TextStyle::kBold:
      return "\x1b[1m";
    case TextStyle::kGood:
      return "\x1b[32m";
    case TextStyle::kWarning:
      return "\x1b[33m";
  }
  return "";
}

/// Formats a line of at most this many columns. used: its columns.
std::string Formatted(const StyledLine& line, int columns, bool color, int& used) {
  std::string text;
  used = 0;
  for (const StyledText& part : line) {
    const bool fits = Columns(part.text) <= columns - used;
    const std::string cut = CutToColumns(part.text, columns - used);
    const std::string_view style = color ? SequenceOf(part.style) : "";
    text += style.empty() ? cut : std::string(style) + cut + std::string(kReset);
    used += Columns(cut);
    if (!fits) break;
  }
  return text;
}

bool IsVariable(const char* name, std::string_view prefix) {
  const char* const value = std::getenv(name);
  return value != nullptr && std::string_view(value).starts_with(prefix);
}

}  // namespace

TerminalSize SizeOfTerminal(int descriptor) {
  winsize size = {};
  TerminalSize found;
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0) return found;
  if (size.ws_col > 0) found.columns = size.ws_col;
  if (size.ws_row > 0) found.rows = size.ws_row;
  return found;
}

TerminalSize SizeOfErrorTerminal() { return SizeOfTerminal(STDERR_FILENO); }

bool UsesColor(ColorMode mode) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* const off = std::getenv("NO_COLOR");
  if (off != nullptr && *off != '\0') return false;
  return ::isatty(STDERR_FILENO) == 1 && !IsVariable("TERM", "dumb");
}

bool TerminalRewraps() {
  return !IsVariable("XTERM_VERSION", "") && !IsVariable("STY", "") &&
         !IsVariable("TERM", "linux") && !IsVariable("TERM", "rxvt");
}

LiveLines::LiveLines(Size size, bool rewraps, bool color)
    : size_(std::move(size)), rewraps_(rewraps), color_(color) {
  const std::lock_guard lock(TerminalMutex());
  live_lines = this;
}

LiveLines::~LiveLines() {
  const std::lock_guard lock(TerminalMutex());
  live_lines = nullptr;
}

bool LiveLines::resized() const { return !drawn_.empty() && size_() != drawn_size_; }

int LiveLines::RowsOfLines(const TerminalSize& size) const {
  int rows = 0;
  for (const int columns : drawn_) {
    rows += rewraps_ ? std::max(1, (columns + size.columns - 1) / size.columns) : 1;
  }
  return std::min(rows, size.rows - 1);
}

std::string LiveLines::ToFirstLine(const TerminalSize& size) const {
  const int rows = RowsOfLines(size);
  return rows > 0 ? fmt::format("\r\x1b[{}A", rows) : "\r";
}

void LiveLines::Draw(const std::vector<StyledLine>& lines) {
  const std::lock_guard lock(TerminalMutex());
  const TerminalSize size = size_();
  std::string text = ToFirstLine(size) + std::string(kNoWrap);
  drawn_.clear();
  const auto most = static_cast<std::size_t>(std::max(1, size.rows - 1));
  const std::size_t skipped = lines.size() > most ? lines.size() - most : 0;
  for (std::size_t i = skipped; i < lines.size(); ++i) {
    int used = 0;
    // The last column stays empty: some terminals wrap after it at once.
    text += std::string(kClearRight) + Formatted(lines[i], size.columns - 1, color_, used) + "\n";
    drawn_.push_back(used);
  }
  text += std::string(kClearBelow) + std::string(kWrap);
  drawn_size_ = size;
  WriteToTerminal(text);
}

void LiveLines::ClearNow() {
  if (drawn_.empty()) return;
  const TerminalSize size = size_();
  // Line by line: tmux keeps a whole screen that is cleared at once in its history.
  std::string text = ToFirstLine(size);
  for (int row = RowsOfLines(size); row > 0; --row) text += std::string(kClearRight) + "\n";
  WriteToTerminal(text + ToFirstLine(size));
  drawn_.clear();
}

void LiveLines::Clear() {
  const std::lock_guard lock(TerminalMutex());
  ClearNow();
}

void LiveLines::Keep() {
  const std::lock_guard lock(TerminalMutex());
  drawn_.clear();
}

void WriteAboveLiveLines(std::string_view text) {
  const std::lock_guard lock(TerminalMutex());
  if (live_lines != nullptr) live_lines->ClearNow();
  WriteToTerminal(text);
}

}  // namespace tilewright::report
