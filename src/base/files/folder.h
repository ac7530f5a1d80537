#pragma once

#include <string>

#include "src/base/status.h"

namespace tilewright {

/// Creates a folder and the folders that it is in, if they do not exist.
/// Errors: kUnavailable with the system's reason.
Status MakeFolder(const std::string& path);

}  // namespace tilewright
