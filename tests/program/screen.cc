#include "tests/program/screen.h"

#include <algorithm>
#include <cstdlib>

#include "src/base/text/text_columns.h"
#include "src/base/text/utf8.h"

namespace tilewright::report {

Screen::Screen(int columns, int rows, bool rewraps)
    : columns_(columns), height_(rows), rewraps_(rewraps), rows_(1) {}

Screen::Row& Screen::RowNow() {
  while (std::ssize(rows_) <= row_) rows_.emplace_back();
  return rows_[static_cast<std::size_t>(row_)];
}

void Screen::LineFeed() {
  ++row_;
  RowNow();
  top_ = std::max(top_, row_ - height_ + 1);
}

void Screen::Put(std::string_view character, int width) {
  if (width == 0) {
    auto& cells = RowNow().cells;
    if (column_ > 0 && column_ <= std::ssize(cells))
      cells[static_cast<std::size_t>(column_ - 1)] += character;
    return;
  }
  if (column_ + width > columns_) {
    if (wraps_) {
      ++wrapped_;
      RowNow().continues = true;
      LineFeed();
      column_ = 0;
    } else {
      ++overwritten_;
      column_ = columns_ - width;
    }
  }
  auto& cells = RowNow().cells;
  const auto end = static_cast<std::size_t>(column_ + width);
  if (cells.size() < end) cells.resize(end, " ");
  cells[static_cast<std::size_t>(column_)] = character;
  if (width == 2) cells[end - 1] = "";
  column_ += width;
}

void Screen::Control(std::string_view sequence) {
  const char last = sequence.back();
  const std::string arguments(sequence.substr(2, sequence.size() - 3));
  const int number = std::atoi(arguments.c_str());
  if (last == 'm') return;  // colours
  if (last == 'A') {
    row_ = std::max(top_, row_ - std::max(1, number));
  } else if (last == 'K' && (arguments.empty() || number == 2)) {
    auto& cells = RowNow().cells;
    if (number == 2) {
      cells.clear();
    } else if (std::ssize(cells) > column_) {
      cells.resize(static_cast<std::size_t>(column_));
    }
    RowNow().continues = false;
  } else if (last == 'J' && arguments.empty()) {
    auto& cells = RowNow().cells;
    if (std::ssize(cells) > column_) cells.resize(static_cast<std::size_t>(column_));
    RowNow().continues = false;
    rows_.resize(static_cast<std::size_t>(row_ + 1));
  } else if (arguments == "?7") {
    wraps_ = last == 'h';
  } else {
    unknown_ += sequence.substr(1);
  }
}

void Screen::Write(std::string_view bytes) {
  pending_ += bytes;
  std::string_view text = pending_;
  while (!text.empty()) {
    if (text[0] == '\x1b') {
      const std::size_t end = text.find_first_of("ABCDEFGHJKSTfhlmnsu", 2);
      if (end == std::string_view::npos) break;  // the rest comes later
      Control(text.substr(0, end + 1));
      text.remove_prefix(end + 1);
      continue;
    }
    const Utf8Character character = FirstCharacter(text);
    if (character.length == 0 && text.size() < 4) break;
    const std::string_view bytes_of = text.substr(0, std::max<std::size_t>(1, character.length));
    if (text[0] == '\n') {
      LineFeed();
      column_ = 0;  // as the terminal's driver does
    } else if (text[0] == '\r') {
      column_ = 0;
    } else {
      Put(bytes_of, Columns(bytes_of));
    }
    text.remove_prefix(bytes_of.size());
  }
  pending_ = std::string(text);
}

void Screen::Rewrap(int columns) {
  std::vector<Row> rows;
  int row = 0, column = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    // A whole line, and the cursor's place in it.
    std::vector<std::string> line;
    std::ptrdiff_t cursor = -1;
    while (true) {
      if (static_cast<int>(i) == row_) cursor = std::ssize(line) + column_;
      line.insert(line.end(), rows_[i].cells.begin(), rows_[i].cells.end());
      if (!rows_[i].continues || i + 1 == rows_.size()) break;
      ++i;
    }
    const auto first = std::ssize(rows);
    for (std::size_t at = 0; at == 0 || at < line.size(); at += static_cast<std::size_t>(columns)) {
      const std::size_t end = std::min(line.size(), at + static_cast<std::size_t>(columns));
      Row part;
      part.cells.assign(line.begin() + static_cast<std::ptrdiff_t>(at),
                        line.begin() + static_cast<std::ptrdiff_t>(end));
      part.continues = end < line.size();
      rows.push_back(std::move(part));
    }
    if (cursor >= 0) {
      row = static_cast<int>(std::min(first + cursor / columns, std::ssize(rows) - 1));
      column = static_cast<int>(cursor - (row - first) * columns);
    }
  }
  const int below = row_ - top_;
  rows_ = std::move(rows);
  row_ = row;
  column_ = column;
  top_ = std::max(0, row_ - std::max(below, height_ - 1));
}

void Screen::Resize(int columns, int rows) {
  height_ = rows;
  if (rewraps_) {
    Rewrap(columns);
  } else {
    for (Row& row : rows_) {
      if (std::ssize(row.cells) > columns) row.cells.resize(static_cast<std::size_t>(columns));
    }
  }
  columns_ = columns;
  top_ = std::max(top_, row_ - height_ + 1);
}

std::string Screen::TextOf(const Row& row) {
  std::string text;
  for (const std::string& cell : row.cells) text += cell;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::vector<std::string> Screen::AllLines() const {
  std::vector<std::string> lines;
  for (const Row& row : rows_) lines.push_back(TextOf(row));
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> Screen::Lines() const {
  std::vector<std::string> lines = AllLines();
  lines.erase(lines.begin(), lines.begin() + std::min<std::ptrdiff_t>(top_, std::ssize(lines)));
  return lines;
}

std::string Screen::Text() const {
  std::string text;
  for (const std::string& line : Lines()) text += line + "\n";
  return text;
}

}  // namespace tilewright::report
