#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Returns the path of the user's own store, the default of all commands. `make_folder`: create its
/// folder if it is missing. Errors: kInvalidArgument if the environment does not determine the
/// user's folders.
Result<std::string> DefaultStorePath(bool make_folder);

/// Record store of a subcommand, given as its first argument or by --records. Default: the user's
/// store.
class StoreArgument {
 public:
  void Declare(CLI::App& app);
  /// Returns the path. Errors: kInvalidArgument if two stores are given; as DefaultStorePath.
  Result<std::string> Path() const;
  /// Returns the path, for a subcommand with more arguments: with --records, the first argument is
  /// one of these and is put in front of them.
  Result<std::string> PathBefore(std::vector<std::string>& others) const;

 private:
  std::string argument_, option_;
};

}  // namespace tilewright::cli
