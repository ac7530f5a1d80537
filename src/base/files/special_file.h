#pragma once

#include <string>

#include "src/base/status.h"

namespace tilewright {

/// Returns the kind of a special file for messages: "a named pipe", "a device", "a socket". Empty
/// for a regular file, a directory, or a missing path.
std::string SpecialFileKind(const std::string& path);

/// Checks a path before it is opened by code that would block on a special file, such as the loader
/// of libraries.
/// Errors: kInvalidArgument naming the path and its kind (SpecialFileKind).
Status CheckNotSpecialFile(const std::string& path);

/// Opens a file for reading without blocking: rejects named pipes and devices. An anonymous pipe of
/// the shell (`<(…)`, standard input) is read to its end. Returns a descriptor, which the caller
/// closes.
/// Errors: kNotFound; kInvalidArgument for a directory, a device, a named pipe or an unreadable
/// file.
Result<int> OpenForReading(const std::string& path);

}  // namespace tilewright
