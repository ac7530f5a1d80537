#include "src/session/user_paths.h"

#include <cstdlib>
#include <filesystem>

#include "src/base/files/folder.h"
#include "src/base/process/subprocess.h"

namespace tilewright::session {
namespace {

/// Returns an absolute path from the environment, or empty.
std::string FolderFrom(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? std::string(value) : std::string();
}

}  // namespace

Result<UserPaths> FindUserPaths() {
  const std::string home = FolderFrom("HOME");
  std::string data = FolderFrom("XDG_DATA_HOME");
  std::string config = FolderFrom("XDG_CONFIG_HOME");
  if (data.empty() && !home.empty()) data = home + "/.local/share";
  if (config.empty() && !home.empty()) config = home + "/.config";
  if (data.empty() || config.empty()) {
    return Unavailable("neither HOME nor XDG_DATA_HOME and XDG_CONFIG_HOME is an absolute path");
  }
  return UserPaths{data + "/tilewright/records.db", data + "/tilewright/packages",
                   config + "/tilewright/trusted_keys"};
}

Result<std::string> UserStorePath(bool make_folder) {
  auto paths = FindUserPaths();
  if (!paths.ok()) {
    return InvalidArgument("no record store: name one with --records (" + paths.status().message() +
                           ")");
  }
  if (make_folder) {
    TW_RETURN_IF_ERROR(MakeFolder(std::filesystem::path(paths->records).parent_path().string()));
  }
  return paths->records;
}

std::vector<std::string> PackageRoots() {
  std::vector<std::string> roots;
  if (auto paths = FindUserPaths(); paths.ok()) roots.push_back(paths->packages);
  roots.emplace_back(kSystemPackages);
  return roots;
}

std::string ShippedPath(std::string_view name) {
  const auto program = ExecutablePath();
  if (!program.ok()) return {};
  const std::string bin = program->substr(0, program->rfind('/'));
  // Relative to PREFIX/bin, and to build/CONFIGURATION/python_free_cli.
  for (const char* folder : {"/../share/tilewright/", "/../../../configs/"}) {
    const std::string path = bin + folder + std::string(name);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) {
      return std::filesystem::path(path).lexically_normal();
    }
  }
  return {};
}

std::string ShippedModel(std::string_view kind) {
  return ShippedPath("cost_models/" + std::string(kind) + ".model");
}

}  // namespace tilewright::session
