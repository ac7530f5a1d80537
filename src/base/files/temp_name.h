#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// A name beside `path` that nobody can foresee, for what takes its place when it is finished:
/// "path.partial.<16 hexadecimal digits>" and the ending. Who opens it says that it must be new
/// (O_EXCL, or "x" to fopen): then no link that somebody has put there is followed.
std::string UniqueTempName(std::string_view path, std::string_view ending = "");

/// Makes a folder that is not there yet, in one that is.
/// Errors: kUnavailable with the system's reason.
Status CreateNewFolder(const std::string& path);

/// Empty if only the owner, who is this user or root, may change the file or folder; else why not.
/// A folder of everybody's whose files only their owners may rename (/tmp) will do where
/// `sticky_is_fine`.
std::string UnsafePermissionReason(const std::string& path, bool sticky_is_fine = false);

}  // namespace tilewright
