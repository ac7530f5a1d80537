#pragma once

#include <string>
#include <string_view>
#include <vector>

// Widths of texts in a terminal or a table of fixed-width characters. Texts are UTF-8, as Printable
// returns them.

namespace tilewright {

/// Returns the number of columns that a terminal needs for the text: two for wide East Asian
/// characters and emoji, none for combining marks, one for everything else.
int Columns(std::string_view text);

/// Returns the text if it fits this number of columns; else its beginning and "…".
std::string CutToColumns(std::string_view text, int columns);

/// Returns exactly this number of columns: the text, cut or with blanks after it.
std::string PadToColumns(std::string_view text, int columns);
/// As PadToColumns, with the blanks before the text.
std::string PadLeftToColumns(std::string_view text, int columns);

/// Breaks a paragraph between words into lines of at most this number of columns. indent: of all
/// lines but the first. head: begins the first line, which is returned also without words. Words
/// that are too long have a line of their own.
std::vector<std::string> WrapToColumns(std::string_view text, int columns, int indent = 0,
                                       std::string_view head = {});

}  // namespace tilewright
