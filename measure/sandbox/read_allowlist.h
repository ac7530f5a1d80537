#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/target/target.h"

namespace tilewright::measure {

/// Files and folders that a candidate's process may read; everything else is refused by Landlock.
/// Entries that do not exist on this machine are left out when the list is applied.
struct ReadAllowlist {
  std::vector<std::string> files;
  std::vector<std::string> folders;  ///< with everything below
};

/// Makes the list of a candidate: the C library, the loader and its cache, facts about processors
/// in /proc and /sys, the artifact, and the libraries that the artifact calls with what they need.
/// Libraries that this program has loaded need no reading. Not thread-safe.
class ReadAllowlistBuilder {
 public:
  ReadAllowlistBuilder();
  /// Reads the artifact for names of the libraries that code for the target may call. The first
  /// time one is named, a process of its own loads it and tells which files that took.
  ReadAllowlist Of(const std::string& artifact, const Target& target);

 private:
  /// Empty if no process can load the library; the next call tries again.
  std::vector<std::string> FilesOf(const std::string& library);

  ReadAllowlist base_;
  std::map<std::string, std::vector<std::string>, std::less<>> libraries_;  // by file name
};

}  // namespace tilewright::measure
