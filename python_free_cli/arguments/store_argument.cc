#include "python_free_cli/arguments/store_argument.h"

#include <CLI/CLI.hpp>

#include "src/session/user_paths.h"

namespace tilewright::cli {

void StoreArgument::Declare(CLI::App& app) {
  app.add_option("store", argument_, "Record store (default: the user's store)");
  app.add_option("--records", option_, "The same, as an option");
}

Result<std::string> StoreArgument::Path() const {
  if (!argument_.empty() && !option_.empty()) {
    return InvalidArgument("--records " + option_ + ": the store is given already: " + argument_);
  }
  if (!argument_.empty()) return argument_;
  if (!option_.empty()) return option_;
  return session::UserStorePath(/*make_folder=*/false);
}

Result<std::string> StoreArgument::PathBefore(std::vector<std::string>& others) const {
  if (option_.empty()) return Path();
  if (!argument_.empty()) others.insert(others.begin(), argument_);
  return option_;
}

}  // namespace tilewright::cli
