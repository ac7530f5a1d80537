#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::session {

/// Folders of this user's files by the XDG base directory specification. All are absolute; relative
/// paths in the environment are ignored, as the specification requires.
struct UserPaths {
  std::string records;       ///< the user's own record store
  std::string packages;      ///< installed packages
  std::string trusted_keys;  ///< keys whose packages are accepted
};

/// Reads $XDG_DATA_HOME, $XDG_CONFIG_HOME and $HOME.
/// Errors: kUnavailable if none of them determines the home.
Result<UserPaths> FindUserPaths();

/// Returns the path of the user's own store, the default of all commands. make_folder: create its
/// folder if it is missing.
/// Errors: kInvalidArgument if the environment does not determine the user's folders; kUnavailable.
Result<std::string> UserStorePath(bool make_folder);

/// Packages for all users.
inline constexpr const char* kSystemPackages = "/usr/share/tilewright/packages";

/// Returns the folders of installed packages in lookup order: the user's, then the system's. No
/// other folder is searched, in particular not the current folder.
std::vector<std::string> PackageRoots();

/// Returns the path of a file or folder shipped with the program ("targets"): next to an installed
/// program, or in the source tree it was built in. Empty if it does not exist.
std::string ShippedPath(std::string_view name);

/// Returns the path of the cost model shipped for a kind of target ("llvm"). Empty if none is
/// shipped.
std::string ShippedModel(std::string_view kind);

}  // namespace tilewright::session
