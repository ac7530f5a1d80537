// Runs the command blocks of README.md and docs/ and compares their output with the pages. C, C++
// and CMake blocks are files that a command of the page builds, or excerpts of files that are
// built elsewhere. TILEWRIGHT_DOCS_ALL=1 runs the blocks marked as slow, too.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "tests/docs/page.h"
#include "tests/docs/page_runner.h"

namespace tilewright::docs {
namespace {

bool RunsAll() { return std::getenv("TILEWRIGHT_DOCS_ALL") != nullptr; }

std::string CaseName(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param.substr(info.param.rfind('/') + 1)) {
    if (c == '.') break;
    name += c == '-' ? '_' : c;
  }
  return name;
}

class DocsPage : public testing::TestWithParam<std::string> {};

TEST_P(DocsPage, CommandsGiveTheOutputShown) {
  const auto page = ReadPage(GetParam());
  ASSERT_TRUE(page.ok()) << page.status().message();
  const PageResult result = RunPage(*page, RunsAll());
  for (const std::string& failure : result.failures) ADD_FAILURE() << failure;
  for (const std::string& slow : result.slow) std::cout << slow << "\n";
}

INSTANTIATE_TEST_SUITE_P(Pages, DocsPage, testing::ValuesIn(PagePaths()), CaseName);

// Prints them: scripts/docs.sh shows the list.
TEST(DocsBlocksTest, BlocksLeftOutHaveReasons) {
  for (const std::string& path : PagePaths()) {
    const auto page = ReadPage(path);
    ASSERT_TRUE(page.ok()) << page.status().message();
    for (const LeftOut& left_out : LeftOutBlocks(*page, RunsAll())) {
      std::cout << "left out: " << left_out.place << ": " << left_out.reason << "\n";
    }
  }
}

// A command is in a block that is run, or that says why it is not.
TEST(DocsBlocksTest, NoCommandEscapesTheTest) {
  for (const std::string& path : PagePaths()) {
    const auto page = ReadPage(path);
    ASSERT_TRUE(page.ok()) << page.status().message();
    for (const Block& block : page->blocks) {
      const std::string place = path + ":" + std::to_string(block.line);
      EXPECT_FALSE(block.language.empty()) << place << ": a block without a language";
      if (block.language == "console" || block.language == "setup") continue;
      EXPECT_TRUE(block.language != "sh" || !block.file.empty())
          << place << ": commands are in blocks of `console`";
      for (const std::string& line : block.lines) {
        const std::string text(Trim(line));
        EXPECT_FALSE(text.starts_with("$ ") || text.starts_with("tilewright "))
            << place << ": a command in a block of `" << block.language << "`: " << text;
      }
      const bool code =
          block.language == "c" || block.language == "cpp" || block.language == "cmake";
      EXPECT_TRUE(!code || !block.file.empty() || !block.excerpt.empty())
          << place << ": code that is not built; add a `file` or an `excerpt` marker";
    }
  }
}

TEST(DocsBlocksTest, ExcerptsAreInTheirFiles) {
  for (const std::string& path : PagePaths()) {
    const auto page = ReadPage(path);
    ASSERT_TRUE(page.ok()) << page.status().message();
    for (const Block& block : page->blocks) {
      if (block.excerpt.empty()) continue;
      const auto text = ReadFile(std::string(TILEWRIGHT_SOURCE_DIR) + "/" + block.excerpt);
      ASSERT_TRUE(text.ok()) << text.status().message();
      const auto lines = Split(*text, '\n');
      auto at = lines.begin();
      for (const std::string& line : block.lines) {
        const std::string wanted(Trim(line));
        if (wanted.empty() || wanted == "..." || wanted == "// ...") continue;
        at = std::find_if(at, lines.end(), [&](const auto& l) { return Trim(l) == wanted; });
        if (at == lines.end()) {
          ADD_FAILURE() << path << ":" << block.line << ": not in " << block.excerpt << ": "
                        << wanted;
          break;
        }
        ++at;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::docs
