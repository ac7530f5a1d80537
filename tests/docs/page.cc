#include "tests/docs/page.h"

#include <algorithm>
#include <filesystem>

#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright::docs {

const std::set<std::string> kSkipReasons = {
    "board",           // needs a board, or a machine of that kind
    "GPU",             // needs a GPU with its driver
    "second machine",  // needs machines that reach each other
    "network",         // downloads something
    "root",            // changes the system
    "build",           // builds the source tree, or needs files of a release
    "browser",         // a page to look at
    "live",            // runs until it is stopped, or draws on a terminal
    "hardware",        // needs a counter or device that most machines lack
};

namespace {

Status Fail(const std::string& path, std::size_t line, const std::string& message) {
  return InvalidArgument(path + ":" + std::to_string(line) + ": " + message);
}

bool SetMarker(const std::string& text, Block& block) {
  const auto blank = text.find(' ');
  const std::string key = text.substr(0, blank);
  const std::string value =
      blank == std::string::npos ? "" : std::string(Trim(std::string_view(text).substr(blank + 1)));
  if (key == "slow" || key == "vary") {
    (key == "slow" ? block.slow : block.vary) = true;
    return value.empty();
  }
  if (value.empty()) return false;
  if (key == "file") {
    block.file = value;
  } else if (key == "excerpt") {
    block.excerpt = value;
  } else if (key == "needs") {
    block.needs = value;
  } else if (key == "skip") {
    block.skip = value;
    return kSkipReasons.contains(value);
  } else if (key == "exit") {
    block.exit_code = value == "any" ? kAnyExitCode : std::atoi(value.c_str());
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<Page> ParsePage(const std::string& path, const std::string& text) {
  Page page = {.path = path, .lines = Split(text, '\n'), .blocks = {}};
  Block next;             // markers for the block to come
  Block* open = nullptr;  // block or setup comment that is not closed yet
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const std::string& line = page.lines[i];
    if (open != nullptr) {
      if (line == (open->language == "setup" ? "-->" : "```")) {
        open = nullptr;
      } else {
        open->lines.push_back(line);
      }
    } else if (line == "<!-- test: setup") {
      Block setup;
      setup.language = "setup";
      setup.line = static_cast<int>(i) + 2;
      page.blocks.push_back(setup);
      open = &page.blocks.back();
    } else if (line.starts_with("<!-- test:")) {
      if (!line.ends_with(" -->")) return Fail(path, i + 1, "the comment is not closed");
      for (const std::string& marker : Split(line.substr(10, line.size() - 14), ',')) {
        if (!SetMarker(std::string(Trim(marker)), next))
          return Fail(path, i + 1, "unknown marker:" + marker);
      }
    } else if (line.starts_with("```")) {
      next.language = std::string(Trim(std::string_view(line).substr(3)));
      next.line = static_cast<int>(i) + 2;
      page.blocks.push_back(std::exchange(next, Block{}));
      open = &page.blocks.back();
    }
  }
  if (open != nullptr) return Fail(path, page.lines.size(), "a block is not closed");
  return page;
}

std::vector<Command> CommandsOf(const Block& block) {
  std::vector<Command> commands;
  const bool setup = block.language == "setup";
  for (std::size_t i = 0; i < block.lines.size(); ++i) {
    const std::string& line = block.lines[i];
    if (!setup && !line.starts_with("$ ")) {
      if (!commands.empty()) commands.back().output.push_back(line);
      continue;
    }
    Command command = {setup ? line : line.substr(2), block.line + static_cast<int>(i), {}};
    while (command.text.ends_with("\\") && i + 1 < block.lines.size()) {
      command.text += "\n" + block.lines[++i];
    }
    commands.push_back(command);
  }
  return commands;
}

std::vector<std::string> PagePaths() {
  std::vector<std::string> paths = {"README.md"};
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TILEWRIGHT_SOURCE_DIR) + "/docs")) {
    if (entry.path().extension() == ".md") {
      paths.push_back("docs/" + entry.path().filename().string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

Result<Page> ReadPage(const std::string& path) {
  TW_ASSIGN_OR_RETURN(const std::string text,
                      ReadFile(std::string(TILEWRIGHT_SOURCE_DIR) + "/" + path));
  return ParsePage(path, text);
}

}  // namespace tilewright::docs
