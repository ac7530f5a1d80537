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

/// The user's own store, which a command uses when none is named. `make_folder`: create its folder
/// if it is missing. Errors: kInvalidArgument if nothing says where the user's files are.
Result<std::string> DefaultStorePath(bool make_folder);

/// `records import` and `records export`: logs of AutoTVM in and out.
class ExchangeCommands {
 public:
  void Declare(CLI::App& records);
  /// True if the command line named one of them.
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
