#include "src/base/shell/split.h"

namespace tilewright {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kShellOnly = "|&;<>`$";

/// Appends the quoted text that begins at `at`, and moves `at` to the mark that ends it.
Status ReadQuoted(std::string_view text, std::size_t& at, std::string& word) {
  const char mark = text[at];
  for (++at; at < text.size() && text[at] != mark; ++at) {
    const bool escaped = mark == '"' && text[at] == '\\' && at + 1 < text.size() &&
                         (text[at + 1] == '"' || text[at + 1] == '\\');
    if (escaped) ++at;
    word += text[at];
  }
  if (at < text.size()) return {};
  return InvalidArgument(std::string("command: expected another ") + mark + " at its end");
}

}  // namespace

Result<std::vector<std::string>> SplitCommandLine(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (kBlanks.find(c) != std::string_view::npos) {
      in_word = false;
      continue;
    }
    if (kShellOnly.find(c) != std::string_view::npos) {
      return InvalidArgument("command: '" + std::string(1, c) + "' at character " +
                             std::to_string(at + 1) + " is for a shell, expected --shell with it");
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'' || c == '"') {
      TW_RETURN_IF_ERROR(ReadQuoted(text, at, words.back()));
    } else if (c == '\\' && at + 1 < text.size()) {
      words.back() += text[++at];
    } else {
      words.back() += c;
    }
  }
  if (words.empty()) return InvalidArgument("command: it is empty, expected a program");
  return words;
}

}  // namespace tilewright
