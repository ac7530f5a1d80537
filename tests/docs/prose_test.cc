// Measures of the prose of README.md and docs/: lengths of sentences and of cells, links, and the
// list of pages of the site.

#include "tests/docs/prose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "tests/docs/page.h"

namespace tilewright::docs {
namespace {

using testing::ElementsAre;

constexpr double kMaxMeanWords = 25;
constexpr std::size_t kMaxCellCharacters = 200;

std::size_t CharactersOf(const std::string& text) {
  std::size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return characters;
}

TEST(DocsProseTest, SentencesAreShortOnAverage) {
  for (const std::string& path : PagePaths()) {
    const auto page = ReadPage(path);
    ASSERT_TRUE(page.ok()) << page.status().message();
    int words = 0, sentences = 0;
    for (const std::string& sentence : SentencesOf(page->lines)) {
      words += WordsOf(sentence);
      ++sentences;
    }
    ASSERT_GT(sentences, 0) << path;
    EXPECT_LE(words, kMaxMeanWords * sentences)
        << path << ": " << words << " words in " << sentences << " sentences";
  }
}

TEST(DocsProseTest, CellsAreShort) {
  for (const std::string& path : PagePaths()) {
    const auto page = ReadPage(path);
    ASSERT_TRUE(page.ok()) << page.status().message();
    for (const Cell& cell : CellsOf(page->lines)) {
      EXPECT_LE(CharactersOf(cell.text), kMaxCellCharacters) << path << ":" << cell.line;
    }
  }
}

TEST(DocsProseTest, LinksResolve) {
  const std::string root = std::string(TILEWRIGHT_SOURCE_DIR) + "/";
  int checked = 0;
  for (const std::string& path : PagePaths()) {
    const auto page = ReadPage(path);
    ASSERT_TRUE(page.ok()) << page.status().message();
    for (const Link& link : LinksOf(page->lines)) {
      if (link.target.starts_with("http")) continue;
      ++checked;
      const std::string place = path + ":" + std::to_string(link.line) + ": " + link.target;
      const auto hash = link.target.find('#');
      const std::string name = link.target.substr(0, hash);
      const std::string folder = path.substr(0, path.rfind('/') + 1);
      std::string file = name.empty() ? path : path[0] == 'd' ? folder + name : name;
      file = std::filesystem::path(file).lexically_normal().string();
      EXPECT_TRUE(std::filesystem::exists(root + file)) << place;
      if (hash == std::string::npos || !file.ends_with(".md")) continue;
      const auto text = ReadFile(root + file);
      ASSERT_TRUE(text.ok()) << place;
      EXPECT_TRUE(AnchorsOf(Split(*text, '\n')).contains(link.target.substr(hash + 1))) << place;
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(DocsProseTest, TheSiteHasEveryPage) {
  const auto site = ReadFile(std::string(TILEWRIGHT_SOURCE_DIR) + "/packaging/mkdocs.yml");
  ASSERT_TRUE(site.ok()) << site.status().message();
  for (const std::string& path : PagePaths()) {
    if (path == "README.md") continue;
    EXPECT_NE(site->find(": " + path.substr(5) + "\n"), std::string::npos) << path;
  }
}

TEST(DocsProseTest, MeasuresAreRight) {
  const std::vector<std::string> lines = {"# A title",
                                          "One `tilewright tune x.onnx` [link](a.md#b). Two",
                                          "words here.",
                                          "",
                                          "- item one",
                                          "- item 1.5 two",
                                          "| a | b \\| `c` |",
                                          "```text",
                                          "Code. Not counted.",
                                          "```",
                                          "## A title, again: `tune`",
                                          "<!-- test: vary -->"};
  const auto sentences = SentencesOf(lines);
  ASSERT_EQ(sentences.size(), 4u);
  EXPECT_EQ(WordsOf(sentences[0]), 3);
  EXPECT_EQ(WordsOf(sentences[1]), 3);
  EXPECT_EQ(WordsOf(sentences[3]), 3);
  ASSERT_EQ(CellsOf(lines).size(), 2u);
  EXPECT_EQ(CellsOf(lines)[1].text, "b \\| `c`");
  ASSERT_EQ(LinksOf(lines).size(), 1u);
  EXPECT_EQ(LinksOf(lines)[0].target, "a.md#b");
  EXPECT_THAT(AnchorsOf(lines), ElementsAre("a-title", "a-title-again-tune"));
}

}  // namespace
}  // namespace tilewright::docs
