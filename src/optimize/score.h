#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright::optimize {

/// Program of the user that rates a library. It is called with the library's path as its last
/// argument and prints one number on standard output; larger is better.
struct ScoreProgram {
  std::vector<std::string> words;  ///< without a shell; empty: no program
  double seconds = 600;            ///< limit of one call
  /// Files and folders that the program reads, besides the files among its words.
  std::vector<std::string> depends = {};

  bool given() const { return !words.empty(); }
  /// Returns a hash of the words, of the limit, and of the contents of the files among the words
  /// and of `depends`, of any size. A folder counts with the relative paths of its regular
  /// files.
  /// Errors: kInvalidArgument for a file that cannot be read, or another kind of thing; kNotFound
  /// if one of `depends` does not exist.
  Result<std::string> Key() const;
};

/// Result of one call.
struct Score {
  double value = 0;
  std::string refused;  ///< why there is no value; empty if there is one
};

/// Runs the program. environment: NAME=value. scratch: folder for its temporary files.
/// Errors: kInvalidArgument if it cannot be executed; kUnavailable if the system has no process for
/// it. A call that fails, takes too long or prints something else is a result.
Result<Score> RunScore(const ScoreProgram& program, const std::string& library,
                       std::vector<std::string> environment, const std::string& scratch);

}  // namespace tilewright::optimize
