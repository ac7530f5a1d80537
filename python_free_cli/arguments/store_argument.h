#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Record store of a subcommand, given as its first argument or by --records. Default: the user's
/// store.
class StoreArgument {
 public:
  void Declare(CLI::App& app);
  /// Returns the path. Errors: kInvalidArgument if two stores are given; as session::UserStorePath.
  Result<std::string> Path() const;
  /// Returns the path, for a subcommand with more arguments: with --records, the first argument is
  /// one of these and is put in front of them.
  Result<std::string> PathBefore(std::vector<std::string>& others) const;

 private:
  std::string argument_, option_;
};

}  // namespace tilewright::cli
