#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/target/target.h"

namespace tilewright::measure {

/// Files and folders that a candidate's process may read; Landlock denies everything else. Entries
/// that do not exist on this machine are skipped when the list is applied.
struct ReadAllowlist {
  std::vector<std::string> files;
  std::vector<std::string> folders;  ///< with all their contents
};

/// Builder of the allowlist of a candidate: the C library, the loader and its cache, processor
/// information in /proc and /sys, the artifact, and the libraries that the artifact calls with
/// their dependencies. Libraries that this program has loaded need no reading. Not thread-safe.
class ReadAllowlistBuilder {
 public:
  ReadAllowlistBuilder();
  /// Searches the artifact for names of the libraries that code for the target may call. On the
  /// first occurrence of a name, a subprocess loads the library and reports the files that it
  /// opened.
  ReadAllowlist Of(const std::string& artifact, const Target& target);

 private:
  /// Returns an empty list if no process can load the library; the next call tries again.
  std::vector<std::string> FilesOf(const std::string& library);

  ReadAllowlist base_;
  std::map<std::string, std::vector<std::string>, std::less<>> libraries_;  // by file name
};

}  // namespace tilewright::measure
