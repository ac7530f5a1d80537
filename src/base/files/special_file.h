#pragma once

#include <string>

#include "src/base/status.h"

namespace tilewright {

/// What a path names instead of a file, as messages say it: "a named pipe", "a device", "a socket".
/// Empty for a file, a folder, or nothing.
std::string SpecialFileKind(const std::string& path);

/// Before something opens the path that would wait there for ever, such as a loader of libraries.
/// Errors: kInvalidArgument naming path and what it is (SpecialFileKind).
Status CheckNotSpecialFile(const std::string& path);

/// Opens a file for reading and never waits for it: a named pipe or a device is refused. What the
/// shell hands over as a pipe without a name (`<(…)`, standard input) is read to its end.
/// returns a descriptor, which is the caller's to close.
/// Errors: kNotFound; kInvalidArgument for a folder, a device, a named pipe or what is not
/// readable.
Result<int> OpenForReading(const std::string& path);

}  // namespace tilewright
