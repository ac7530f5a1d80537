#include "tests/docs/prose.h"

#include <cctype>
#include <map>

#include "src/base/strings.h"

namespace tilewright::docs {
namespace {

bool IsWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

/// Lines outside of code blocks and comments, others as empty lines.
std::vector<std::string> TextLines(const std::vector<std::string>& lines) {
  std::vector<std::string> text;
  bool code = false, comment = false;
  for (const std::string& line : lines) {
    const bool fence = line.starts_with("```");
    if (!code && line.starts_with("<!--")) comment = true;
    text.push_back(code || comment || fence ? "" : line);
    if (comment && line.find("-->") != std::string::npos) comment = false;
    if (fence) code = !code;
  }
  return text;
}

/// Replaces code between backticks by "code".
std::string WithoutCode(std::string_view line) {
  std::string result;
  bool code = false;
  for (const char c : line) {
    if (c == '`') {
      code = !code;
      if (code) result += "code";
    } else if (!code) {
      result += c;
    }
  }
  return result;
}

/// Replaces links by their texts.
std::string WithoutTargets(std::string_view line) {
  std::string result;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ']' && i + 1 < line.size() && line[i + 1] == '(') {
      const auto end = line.find(')', i);
      if (end != std::string_view::npos) {
        i = end;
        continue;
      }
    }
    if (line[i] != '[') result += line[i];
  }
  return result;
}

bool IsItem(std::string_view line) {
  if (line.starts_with("- ") || line.starts_with("* ")) return true;
  std::size_t digits = 0;
  while (digits < line.size() && std::isdigit(static_cast<unsigned char>(line[digits])) != 0) {
    ++digits;
  }
  return digits > 0 && line.substr(digits).starts_with(". ");
}

/// Adds the sentences of a paragraph.
void SplitParagraph(const std::string& paragraph, std::vector<std::string>& sentences) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < paragraph.size(); ++i) {
    if (paragraph[i] != '.' && paragraph[i] != '!' && paragraph[i] != '?') continue;
    std::size_t end = i + 1;
    while (end < paragraph.size() && (paragraph[end] == ')' || paragraph[end] == '*')) ++end;
    if (end < paragraph.size() && paragraph[end] != ' ') continue;
    sentences.push_back(paragraph.substr(begin, end - begin));
    begin = end;
  }
  if (begin < paragraph.size()) sentences.push_back(paragraph.substr(begin));
}

}  // namespace

int WordsOf(std::string_view sentence) {
  int words = 0;
  bool inside = false;
  for (const char c : sentence) {
    if (c == ' ') inside = false;
    if (!inside && IsWordChar(c)) {
      inside = true;
      ++words;
    }
  }
  return words;
}

std::vector<std::string> SentencesOf(const std::vector<std::string>& lines) {
  std::vector<std::string> sentences, result;
  std::string paragraph;
  const auto flush = [&] {
    SplitParagraph(WithoutTargets(WithoutCode(paragraph)), sentences);
    paragraph.clear();
  };
  for (const std::string& line : TextLines(lines)) {
    const std::string text(Trim(line));
    if (text.empty() || text[0] == '|' || text[0] == '#' || IsItem(text)) flush();
    if (text.empty() || text[0] == '|' || text[0] == '#') continue;
    paragraph += (paragraph.empty() ? "" : " ") + text;
  }
  flush();
  for (std::string& sentence : sentences) {
    if (WordsOf(sentence) > 0) result.push_back(std::move(sentence));
  }
  return result;
}

std::vector<Cell> CellsOf(const std::vector<std::string>& lines) {
  std::vector<Cell> cells;
  int number = 0;
  for (const std::string& line : TextLines(lines)) {
    ++number;
    if (!line.starts_with("|")) continue;
    std::string cell;
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (line[i] == '|' && line[i - 1] != '\\') {
        cells.push_back({number, std::string(Trim(WithoutTargets(cell)))});
        cell.clear();
      } else {
        cell += line[i];
      }
    }
  }
  return cells;
}

std::vector<Link> LinksOf(const std::vector<std::string>& lines) {
  std::vector<Link> links;
  int number = 0;
  for (const std::string& line : TextLines(lines)) {
    ++number;
    const std::string text = WithoutCode(line);
    for (auto at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      const auto end = text.find(')', at);
      if (end != std::string::npos) links.push_back({number, text.substr(at + 2, end - at - 2)});
    }
  }
  return links;
}

std::set<std::string> AnchorsOf(const std::vector<std::string>& lines) {
  std::set<std::string> anchors;
  std::map<std::string, int> uses;
  for (const std::string& line : TextLines(lines)) {
    const auto level = line.find_first_not_of('#');
    if (level == 0 || level == std::string::npos || line[level] != ' ') continue;
    std::string anchor;
    for (const char c : WithoutTargets(line.substr(level + 1))) {
      if (c == ' ') anchor += '-';
      if (IsWordChar(c) || c == '-' || c == '_') {
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    const int n = uses[anchor]++;
    anchors.insert(n == 0 ? anchor : anchor + "-" + std::to_string(n));
  }
  return anchors;
}

}  // namespace tilewright::docs
