#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::session {

/// Where this user's files are, by the XDG base directories. All absolute; what the environment
/// says that is not is passed over, as that specification wants.
struct UserPaths {
  std::string records;       ///< the user's own record store
  std::string packages;      ///< installed packages
  std::string trusted_keys;  ///< keys whose packages are taken
};

/// Reads $XDG_DATA_HOME, $XDG_CONFIG_HOME and $HOME.
/// Errors: kUnavailable if none of them says where the home is.
Result<UserPaths> FindUserPaths();

/// Packages for all users.
inline constexpr const char* kSystemPackages = "/usr/share/tilewright/packages";

/// Folders of installed packages in the order in which they are asked: the user's, then the
/// system's. Nothing else is searched, the current folder least of all.
std::vector<std::string> PackageRoots();

/// A file or folder shipped with the program ("targets"): beside it where it is installed, or in
/// the source tree it was built in. Empty if there is none.
std::string ShippedPath(std::string_view name);

/// The cost model shipped for a kind of target ("llvm"). Empty if there is none.
std::string ShippedModel(std::string_view kind);

}  // namespace tilewright::session
