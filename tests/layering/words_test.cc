// Terms of the tree: retired words stay away (retired_words.txt), and the glossary names files that
// exist.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

const std::string kWordsRoot = TILEWRIGHT_SOURCE_DIR;

struct RetiredWord {
  std::string word, instead;
};

struct WordList {
  std::vector<RetiredWord> words;
  std::vector<std::string> texts;  ///< stored, sent, exported, or names of options: they stay
};

std::string LowerOf(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

WordList ReadWordList() {
  WordList list;
  const auto text = ReadFile(kWordsRoot + "/tests/layering/retired_words.txt");
  EXPECT_TRUE(text.ok());
  for (const std::string& line : Split(*text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const auto parts = Split(line, '\t');
    EXPECT_EQ(parts.size(), 3u) << line;
    if (parts.size() != 3) continue;
    if (parts[0] == "word") list.words.push_back({LowerOf(parts[1]), parts[2]});
    if (parts[0] == "text") list.texts.push_back(LowerOf(parts[1]));
  }
  return list;
}

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// Position of a whole word in a line in lower case, npos if it is not there.
std::size_t FindWord(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !IsLetter(line[at - 1])) && (end == line.size() || !IsLetter(line[end]))) {
      return at;
    }
  }
  return std::string_view::npos;
}

/// The line in lower case, without the texts that stay.
std::string WithoutTexts(std::string_view line, const std::vector<std::string>& texts) {
  std::string rest = LowerOf(line);
  for (const std::string& text : texts) {
    for (auto at = rest.find(text); at != std::string::npos; at = rest.find(text, at)) {
      rest.replace(at, text.size(), " ");
    }
  }
  return rest;
}

/// Retired words of a text, as "line N: 'word', write 'instead'".
std::vector<std::string> RetiredIn(std::string_view text, const WordList& list) {
  std::vector<std::string> found;
  const std::string all = LowerOf(text);
  std::vector<const RetiredWord*> present;  // most files have none: no line is looked at twice
  for (const RetiredWord& word : list.words) {
    if (all.find(word.word) != std::string::npos) present.push_back(&word);
  }
  if (present.empty()) return found;
  std::int64_t number = 0;
  for (const std::string& line : Split(std::string(text), '\n')) {
    ++number;
    const std::string rest = WithoutTexts(line, list.texts);
    for (const RetiredWord* word : present) {
      if (FindWord(rest, word->word) == std::string_view::npos) continue;
      found.push_back("line " + std::to_string(number) + ": '" + word->word + "', write '" +
                      word->instead + "'");
    }
  }
  return found;
}

TEST(WordsTest, RetiredWordsStayAway) {
  const WordList list = ReadWordList();
  ASSERT_GT(list.words.size(), 20u);
  std::size_t files = 0;
  for (const char* folder : {"src", "records", "measure", "search", "cost_model", "python_free_cli",
                             "include", "docs", "scripts", "tests", "bench"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kWordsRoot + "/" + folder)) {
      const std::string path = fs::relative(entry.path(), kWordsRoot).string();
      const std::string kind = entry.path().extension();
      constexpr std::array kKinds = {".cc", ".h", ".c", ".md", ".sh", ".js", ".html"};
      if (std::ranges::find(kKinds, kind) == kKinds.end()) continue;
      // Results and interfaces of released versions are as they were.
      if (path.starts_with("bench/results/") || path.starts_with("tests/capi/release_")) continue;
      const auto text = ReadFile(entry.path().string());
      ASSERT_TRUE(text.ok()) << text.status().message();
      ++files;
      for (const std::string& found : RetiredIn(*text, list)) ADD_FAILURE() << path << " " << found;
    }
  }
  EXPECT_GT(files, 1500u);
}

TEST(WordsTest, FindsRetiredWords) {
  const WordList list = {{{"made-up", "synthetic"}}, {"--made-up"}};
  EXPECT_EQ(RetiredIn("of\na Made-up input", list).size(), 1u);
  EXPECT_TRUE(RetiredIn("unmade-upper", list).empty());
  EXPECT_TRUE(RetiredIn("option --made-up", list).empty());
}

TEST(WordsTest, TheGlossaryNamesFilesThatExist) {
  const auto text = ReadFile(kWordsRoot + "/docs/glossary.md");
  ASSERT_TRUE(text.ok()) << text.status().message();
  std::size_t terms = 0;
  for (const std::string& line : Split(*text, '\n')) {
    if (!line.starts_with("| ") || !line.ends_with("` |")) continue;
    const auto end = line.size() - 3, begin = line.rfind('`', end - 1) + 1;
    EXPECT_TRUE(FileExists(kWordsRoot + "/" + line.substr(begin, end - begin))) << line;
    ++terms;
  }
  EXPECT_GT(terms, 80u);
}

}  // namespace
}  // namespace tilewright
