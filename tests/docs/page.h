#pragma once

#include <set>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright::docs {

constexpr int kAnyExitCode = -1;

/// Fenced block of a page, or the commands of a setup comment.
///
/// A comment on the lines before a block says how the test treats it, as a list with commas:
///   <!-- test: file NAME -->      the block is written to this file of the page's work folder
///   <!-- test: excerpt PATH -->   its lines are in this file of the source tree, in this order
///   <!-- test: skip REASON -->    it is not run; REASON is one of kSkipReasons
///   <!-- test: needs PROGRAM -->  it runs only where this program is installed; cpu-NAME: where
///                                /proc/cpuinfo has the feature
///   <!-- test: slow -->           it runs only with TILEWRIGHT_DOCS_ALL
///   <!-- test: vary -->           each number of the output matches any number
///   <!-- test: exit CODE -->      exit code of the block's last command; "any" for each
///   <!-- test: setup              commands that run before the next block; the page does not show
///   COMMAND                       them
///   -->
struct Block {
  std::string language;  ///< after the fence; "setup" for a setup comment
  int line = 0;          ///< of its first line in the page, from 1
  std::vector<std::string> lines;
  std::string file, excerpt, skip, needs;
  bool slow = false, vary = false;
  int exit_code = 0;
};

struct Page {
  std::string path;  ///< relative to the source folder
  std::vector<std::string> lines;
  std::vector<Block> blocks;
};

/// Command of a console block with its expected output.
struct Command {
  std::string text;
  int line = 0;
  std::vector<std::string> output;  ///< empty: the page does not show it
};

/// Reasons for which a block may stay out of the test.
extern const std::set<std::string> kSkipReasons;

/// Splits a page into blocks. Errors: kInvalidArgument with the line if a marker is unknown or a
/// fence or comment is not closed.
Result<Page> ParsePage(const std::string& path, const std::string& text);

/// Commands of a console or setup block: lines that begin with "$ " (of a setup block: all lines),
/// with their continuation lines, each followed by its output.
std::vector<Command> CommandsOf(const Block& block);

/// README.md and all pages of docs/, sorted by path.
std::vector<std::string> PagePaths();

/// Reads and parses a page of the source folder.
Result<Page> ReadPage(const std::string& path);

}  // namespace tilewright::docs
