#pragma once

#include <string>
#include <vector>

#include "tests/docs/page.h"

namespace tilewright::docs {

/// Block that was not run, with the reason.
struct LeftOut {
  std::string place;  ///< "docs/tour.md:12"
  std::string reason;
};

struct PageResult {
  std::vector<std::string> failures;
  std::vector<LeftOut> left_out;
  std::vector<std::string>
      slow;  ///< "3.2 s docs/tour.md:12: COMMAND", commands of a second or more
};

/// Blocks of the page that the test does not run. all: blocks marked as slow run.
std::vector<LeftOut> LeftOutBlocks(const Page& page, bool all);

/// Writes the files of a page to a new folder, runs its commands there in one shell, in order, and
/// compares their output with the page. The folder is deleted at the end. Folders of the source
/// tree (docs, include, ...) are visible in it, as for a reader at the root of the tree; $HOME is
/// inside, so that the user's store and packages are not seen.
PageResult RunPage(const Page& page, bool all);

}  // namespace tilewright::docs
