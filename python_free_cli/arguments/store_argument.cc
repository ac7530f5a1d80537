#include "python_free_cli/arguments/store_argument.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>

#include "src/session/user_paths.h"

namespace tilewright::cli {

Result<std::string> DefaultStorePath(bool make_folder) {
  auto paths = session::FindUserPaths();
  if (!paths.ok()) {
    return InvalidArgument("no record store: name one with --records (" + paths.status().message() +
                           ")");
  }
  if (make_folder) {
    const std::filesystem::path folder = std::filesystem::path(paths->records).parent_path();
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return Unavailable(folder.string() + ": cannot be made: " + failed.message());
  }
  return paths->records;
}

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
  return DefaultStorePath(/*make_folder=*/false);
}

Result<std::string> StoreArgument::PathBefore(std::vector<std::string>& others) const {
  if (option_.empty()) return Path();
  if (!argument_.empty()) others.insert(others.begin(), argument_);
  return option_;
}

}  // namespace tilewright::cli
