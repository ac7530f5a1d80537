#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::docs {

/// Sentences of a page outside of code blocks, tables, headings and comments. Each item of a list
/// begins a sentence. Code between backticks is one word; of a link only its text remains.
std::vector<std::string> SentencesOf(const std::vector<std::string>& lines);

/// Number of words between blanks that have a letter or digit.
int WordsOf(std::string_view sentence);

struct Cell {
  int line;  ///< in the page, from 1
  std::string text;
};

/// Cells of all tables, without the targets of links.
std::vector<Cell> CellsOf(const std::vector<std::string>& lines);

struct Link {
  int line;
  std::string target;
};

/// Links and images outside of code.
std::vector<Link> LinksOf(const std::vector<std::string>& lines);

/// Anchors that the headings of a page have on GitHub and in the site.
std::set<std::string> AnchorsOf(const std::vector<std::string>& lines);

}  // namespace tilewright::docs
