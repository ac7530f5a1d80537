#include "src/base/shell/quote.h"

#include <algorithm>

namespace tilewright {

std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ShellWord(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-+=./:,@%").find(c) != std::string_view::npos;
  };
  // A '#' begins a comment only at the beginning of a word.
  const bool plain =
      !text.empty() && text.front() != '=' &&
      std::ranges::all_of(text.substr(1), [&](char c) { return is_plain(c) || c == '#'; }) &&
      is_plain(text.front());
  return plain ? std::string(text) : ShellQuoted(text);
}

}  // namespace tilewright
