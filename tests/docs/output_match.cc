#include "tests/docs/output_match.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tilewright::docs {
namespace {

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// End of the number that begins at a digit: digits, commas between digits, a fraction, an
/// exponent.
std::size_t EndOfNumber(std::string_view line, std::size_t at) {
  while (at < line.size()) {
    const bool digit_follows = at + 1 < line.size() && IsDigit(line[at + 1]);
    if (IsDigit(line[at])) {
      ++at;
    } else if ((line[at] == '.' || line[at] == ',') && digit_follows) {
      at += 2;
    } else if (line[at] == 'e' && at + 2 < line.size() &&
               (line[at + 1] == '-' || line[at + 1] == '+') && IsDigit(line[at + 2])) {
      at += 3;
    } else {
      break;
    }
  }
  return at;
}

/// Replaces numbers by "#" and units of time after a number by "s". Drops "~" before a number,
/// which marks noise.
std::string WithoutNumbers(std::string_view line) {
  std::string result;
  for (std::size_t i = 0; i < line.size();) {
    if (IsLetter(line[i]) || line[i] == '_') {  // a word keeps its digits
      while (i < line.size() && (IsLetter(line[i]) || IsDigit(line[i]) || line[i] == '_')) {
        result += line[i++];
      }
      continue;
    }
    if (!IsDigit(line[i])) {
      const bool noise = line[i] == '~' && i + 1 < line.size() && IsDigit(line[i + 1]);
      if (!noise) result += line[i];
      ++i;
      continue;
    }
    i = EndOfNumber(line, i);
    result += '#';
    std::size_t unit = i;
    if (unit < line.size() && line[unit] == ' ') ++unit;
    for (const std::string_view name : {"ns", "us", "µs", "ms", "s", "min", "h"}) {
      if (!line.substr(unit).starts_with(name)) continue;
      const std::size_t end = unit + name.size();
      if (end < line.size() && IsLetter(line[end])) continue;
      result += " s";
      i = end;
      break;
    }
  }
  return result;
}

bool LineMatches(std::string_view pattern, std::string_view line) {
  const auto dots = pattern.find("...");
  if (dots == std::string_view::npos) return pattern == line;
  if (!line.starts_with(pattern.substr(0, dots))) return false;
  const std::string_view rest = pattern.substr(dots + 3);
  for (std::size_t at = dots; at <= line.size(); ++at) {
    if (LineMatches(rest, line.substr(at))) return true;
  }
  return false;
}

bool LinesMatch(const std::vector<std::string>& expected, std::size_t i,
                const std::vector<std::string>& actual, std::size_t k) {
  for (; i < expected.size(); ++i, ++k) {
    if (expected[i] == "...") {
      for (std::size_t to = k; to <= actual.size(); ++to) {
        if (LinesMatch(expected, i + 1, actual, to)) return true;
      }
      return false;
    }
    if (k == actual.size() || !LineMatches(expected[i], actual[k])) return false;
  }
  return k == actual.size();
}

std::vector<std::string> Normalized(const std::vector<std::string>& lines, bool vary) {
  std::vector<std::string> result;
  for (const std::string& line : lines) {
    std::string normalized = NormalizedLine(line, vary);
    if (!normalized.empty()) result.push_back(std::move(normalized));
  }
  return result;
}

}  // namespace

std::string NormalizedLine(const std::string& line, bool vary) {
  std::string result;
  for (const char c : line) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  if (result.ends_with(' ')) result.pop_back();
  return vary ? WithoutNumbers(result) : result;
}

bool OutputMatches(const std::vector<std::string>& expected, const std::vector<std::string>& actual,
                   bool vary) {
  return LinesMatch(Normalized(expected, vary), 0, Normalized(actual, vary), 0);
}

}  // namespace tilewright::docs
