#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// Returns an unpredictable temporary name next to `path`: "path.partial.<16 hexadecimal digits>"
/// and the ending. Callers must open it as a new file (O_EXCL, or "x" for fopen), so that no
/// planted link is followed.
std::string UniqueTempName(std::string_view path, std::string_view ending = "");

/// Creates a new directory in an existing one.
/// Errors: kUnavailable with the system's reason.
Status CreateNewFolder(const std::string& path);

/// Returns an empty text if only the owner, who is this user or root, may change the file or
/// directory; else the reason why not. With `sticky_is_fine`, a world-writable directory with the
/// sticky bit (/tmp) is accepted.
std::string UnsafePermissionReason(const std::string& path, bool sticky_is_fine = false);

}  // namespace tilewright
