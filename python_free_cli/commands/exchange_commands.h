#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::cli {

/// Returns the path of the user's own store, the default of all commands. `make_folder`: create its
/// folder if it is missing. Errors: kInvalidArgument if the environment does not determine the
/// user's folders.
Result<std::string> DefaultStorePath(bool make_folder);

/// `records import` and `records export`: import and export of AutoTVM logs.
class ExchangeCommands {
 public:
  void Declare(CLI::App& records);
  /// True if the command line has one of the two subcommands.
  bool chosen() const { return !subcommand_.empty(); }
  Result<int> Run(const TemplateRegistry& templates);
  static const char* Examples();

 private:
  Result<int> Import();
  Result<int> Export(const TemplateRegistry& templates);

  std::string subcommand_, store_, target_, format_ = "autotvm", output_;
  std::vector<std::string> files_;
  bool dry_run_ = false, json_ = false, best_ = false;
};

}  // namespace tilewright::cli
