#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::session {

/// Width of tables and paragraphs if the output is not a terminal.
inline constexpr int kTextWidth = 80;

/// Returns the width of paragraphs on a terminal of these columns: 40 to 100; kTextWidth for 0, no
/// terminal.
int TextWidthOn(int columns);
/// Returns the width of paragraphs on standard output.
int TextWidth();
/// Sets it to TextWidthOn(columns). Call it before other threads start.
void SetTextWidth(int columns);

/// Returns the lines of WrapToColumns (src/base/text/text_columns.h) as one text.
std::string WrapText(std::string_view head, std::string_view text, int width = TextWidth(),
                     int indent = 2);

/// Returns the text with its longer lines broken at blanks. Lines that begin with a blank, such as
/// commands, stay as they are.
std::string WrapLines(std::string_view text, int width = TextWidth());

/// Returns the first names in at most `lines` lines of at most `width` columns, separated by
/// commas, and "and N more" for the others. Each line begins with `indent` blanks.
std::string NameLines(const std::vector<std::string>& names, std::size_t lines,
                      int width = TextWidth(), int indent = 2);

/// Table of text with a header. Columns are as wide as their cells. If a row is wider than the
/// table, columns that may be cut are, the last first.
class TextTable {
 public:
  struct Column {
    std::string title;
    bool right = false;  ///< aligned to the right
    int least = 0;  ///< columns of a terminal that remain if the column is cut; 0: it is not cut
  };
  explicit TextTable(std::vector<Column> columns, int width = kTextWidth);

  /// Sets the width of the rows that the next calls of Take return; 0: no limit, nothing is cut.
  void set_width(int width) { width_ = width; }

  /// Adds a row; missing cells are empty. Cells are printable text (Printable).
  void AddRow(std::vector<std::string> cells);
  /// Adds text of whole lines below the last row, which does not affect the columns.
  void AddLines(std::string text);
  /// Returns the header, once, and the rows since the last call. Columns keep their widths from one
  /// call to the next, so that long tables can be printed in parts. Empty without rows.
  std::string Take();

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string lines;
  };
  void FitWidths();
  std::string Format(const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  int width_;
  std::vector<int> widths_;
  std::vector<Row> rows_;
  bool has_header_ = false;
};

}  // namespace tilewright::session
