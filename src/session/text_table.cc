#include "src/session/text_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/base/text/text_columns.h"

namespace tilewright::session {

namespace {

int text_width = kTextWidth;

}  // namespace

int TextWidthOn(int columns) {
  constexpr int kMin = 40, kMax = 100;  // longer lines are hard to read
  return columns > 0 ? std::clamp(columns, kMin, kMax) : kTextWidth;
}

int TextWidth() { return text_width; }

void SetTextWidth(int columns) { text_width = TextWidthOn(columns); }

std::string WrapText(std::string_view head, std::string_view text, int width, int indent) {
  std::string all;
  for (const std::string& line : WrapToColumns(text, width, indent, head)) {
    all += (all.empty() ? "" : "\n") + line;
  }
  return all;
}

std::string WrapLines(std::string_view text, int width) {
  std::string all;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool long_line = !line.starts_with(' ') && Columns(line) > width;
    all += long_line ? WrapText("", line, width) : std::string(line);
    if (end == std::string_view::npos) break;
    all += '\n';
    text.remove_prefix(end + 1);
  }
  return all;
}

std::string NameLines(const std::vector<std::string>& names, std::size_t lines, int width,
                      int indent) {
  const std::string begin(static_cast<std::size_t>(indent), ' ');
  constexpr int kMore = 16;  // ", and 12345 more"
  std::string text = begin;
  int used = indent;
  std::size_t line = 1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    const int size = Columns(names[i]) + (last ? 0 : 1);
    const int room = line == lines && !last ? kMore : 0;
    if (i > 0 && used + 1 + size + room > width) {
      if (line == lines) {
        text.pop_back();  // the comma
        return text + ", and " + std::to_string(names.size() - i) + " more";
      }
      text += "\n" + begin;
      used = indent;
      ++line;
    } else if (i > 0) {
      text += " ";
      ++used;
    }
    text += names[i] + (last ? "" : ",");
    used += size;
  }
  return text;
}

TextTable::TextTable(std::vector<Column> columns, int width)
    : columns_(std::move(columns)), width_(width) {
  for (const Column& column : columns_) widths_.push_back(Columns(column.title));
}

void TextTable::AddRow(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), {}});
}

void TextTable::AddLines(std::string text) {
  if (!text.ends_with('\n')) text += '\n';
  if (rows_.empty()) rows_.emplace_back();
  rows_.back().lines += text;
}

void TextTable::FitWidths() {
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      widths_[i] = std::max(widths_[i], Columns(row.cells[i]));
    }
  }
  const int gaps = 2 * (static_cast<int>(columns_.size()) - 1);
  int all = std::accumulate(widths_.begin(), widths_.end(), gaps);
  for (std::size_t i = columns_.size(); i > 0 && width_ > 0 && all > width_; --i) {
    const Column& column = columns_[i - 1];
    int& width = widths_[i - 1];
    const int least = std::max(column.least, Columns(column.title));
    if (column.least == 0 || width <= least) continue;
    const int cut = std::min(all - width_, width - least);
    width -= cut;
    all -= cut;
  }
}

std::string TextTable::Format(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = columns_[i].least > 0 ? CutToColumns(cells[i], widths_[i]) : cells[i];
    const int size = Columns(cell);
    const std::string blanks(static_cast<std::size_t>(std::max(0, widths_[i] - size)), ' ');
    line += (i == 0 ? "" : "  ") + (columns_[i].right ? blanks + cell : cell + blanks);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string TextTable::Take() {
  if (rows_.empty()) return {};
  FitWidths();
  std::string text;
  if (!std::exchange(has_header_, true)) {
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(column.title);
    text = Format(titles);
  }
  for (const Row& row : rows_) text += (row.cells.empty() ? "" : Format(row.cells)) + row.lines;
  rows_.clear();
  return text;
}

}  // namespace tilewright::session
