// Parses the examples in the documentation: command lines by the program's argument parser,
// schedules and expressions by their parsers. Every config of a schedule that its requirements
// allow must be legal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "python_free_cli/arguments/extension_arguments.h"
#include "python_free_cli/command.h"
#include "python_free_cli/program_arguments.h"
#include "search/space.h"
#include "search/static_analyzer.h"
#include "search/tuner.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/plugins/registries.h"
#include "src/templates/text/text_template.h"
#include "src/tensor/expression/expression.h"

namespace tilewright::cli {
namespace {

/// A block between ``` lines.
struct DocsBlock {
  std::string place;     ///< "docs/tour.md:12"
  std::string language;  ///< after the fence
  std::vector<std::string> lines;
};

std::vector<DocsBlock> BlocksOf(const std::string& path) {
  const auto text = ReadFile(std::string(TILEWRIGHT_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(text.ok()) << text.status().message();
  std::vector<DocsBlock> blocks;
  bool inside = false;
  int number = 0;
  for (const std::string& line : Split(*text, '\n')) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({path + ":" + std::to_string(number + 1), line.substr(3), {}});
    } else if (inside) {
      auto& lines = blocks.back().lines;
      if (!lines.empty() && lines.back().ends_with("\\")) {  // a command goes on
        lines.back().pop_back();
        lines.back() += line;
      } else {
        lines.push_back(line);
      }
    }
  }
  EXPECT_FALSE(inside) << path;
  return blocks;
}

std::vector<DocsBlock> AllBlocks() {
  std::vector<std::string> paths = {"README.md"};
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TILEWRIGHT_SOURCE_DIR) + "/docs")) {
    if (entry.path().extension() == ".md")
      paths.push_back("docs/" + entry.path().filename().string());
  }
  std::ranges::sort(paths);
  std::vector<DocsBlock> blocks;
  for (const std::string& path : paths) {
    const auto more = BlocksOf(path);
    blocks.insert(blocks.end(), more.begin(), more.end());
  }
  return blocks;
}

/// Returns the words of a shell line up to a comment, a pipe or a redirection.
std::vector<std::string> ShellWords(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool begun = false;
  char quote = 0;
  for (const char c : line + " ") {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      begun = true;
    } else if (c == ' ') {
      if (begun) words.push_back(std::exchange(word, ""));
      begun = false;
    } else if (!begun && (c == '#' || c == '|' || c == '>' || c == '<' || c == '&' || c == ';')) {
      break;
    } else {
      word += c;
      begun = true;
    }
  }
  return words;
}

/// Returns whether the line has a placeholder for the reader to fill in.
bool HasPlaceholder(const std::string& line) {
  if (line.find("…") != std::string::npos || line.find("...") != std::string::npos) return true;
  return std::ranges::any_of(ShellWords(line), [](const std::string& word) {
    return word.find('|') != std::string::npos || word.find('[') == 0 ||
           std::ranges::all_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

TEST(DocsTest, CommandLinesAreUnderstood) {
  int checked = 0;
  for (const DocsBlock& block : AllBlocks()) {
    for (std::string line : block.lines) {
      if (line.starts_with("$ ")) line.erase(0, 2);
      if (!line.starts_with("tilewright ") || HasPlaceholder(line)) continue;
      std::vector<std::string> words = ShellWords(line);
      words.erase(words.begin());
      std::ranges::reverse(words);  // the order that the parser takes
      CLI::App app("", "tilewright");
      ExtensionArguments extensions;
      auto commands = AllCommands();
      DeclareProgram(app, commands, extensions);
      std::string error;
      try {
        app.parse(words);
      } catch (const CLI::ParseError& thrown) {
        if (thrown.get_exit_code() != 0) error = thrown.what();
      }
      EXPECT_EQ(error, "") << block.place << ": " << line;
      EXPECT_FALSE(app.get_subcommands().empty()) << block.place << ": " << line;
      ++checked;
    }
  }
  EXPECT_GT(checked, 60);
}

std::string TextOf(const DocsBlock& block) {
  std::string text;
  for (const std::string& line : block.lines) text += line + "\n";
  return text;
}

TEST(DocsTest, SchedulesAreLegal) {
  int checked = 0;
  for (const DocsBlock& block : AllBlocks()) {
    if (block.language != "tws") continue;
    auto schedule = ParseScheduleText(TextOf(block), block.place);
    ASSERT_TRUE(schedule.ok()) << schedule.status().message();
    TemplateRegistry templates;
    ASSERT_TRUE(AddScheduleText(templates, *std::move(schedule)).ok());
    for (const char* key : {"dense(float32[4,32]MK,float32[48,32]NK)->float32",
                            "dense(float32[37,65]MK,float32[130,65]NK)->float32"}) {
      for (const char* target :
           {"llvm -mcpu=core-avx2", "llvm -mcpu=znver4", "llvm -mcpu=x86-64"}) {
        for (const char* epilogue : {"", "relu"}) {
          const Task task = {*Workload::Parse(key), *Target::Parse(target)};
          const auto space = search::MakeSearchSpace(templates, task, *Epilogue::Parse(epilogue));
          ASSERT_TRUE(space.ok()) << block.place << ": " << space.status().message();
          const search::TemplateAnalyzer analyzer(*space);
          std::int64_t legal = 0;
          for (std::int64_t i = 0; i < space->size(); ++i) {
            const Status status = analyzer.Check({0, i});
            legal += status.ok() ? 1 : 0;
            // A failed `require` is not an error of the text.
            const bool required = status.message().find("does not hold") != std::string::npos;
            EXPECT_TRUE(status.ok() || required)
                << block.place << ": config " << i << " for " << key << " on " << target << ": "
                << status.message();
          }
          EXPECT_GT(2 * legal, space->size()) << block.place << " for " << key << " on " << target;
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(DocsTest, ExpressionsAreUnderstood) {
  int checked = 0;
  for (const DocsBlock& block : AllBlocks()) {
    if (block.language != "tw") continue;
    const auto parsed = ParseExpression(TextOf(block), block.place);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace tilewright::cli
