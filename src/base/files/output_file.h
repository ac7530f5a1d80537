#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// Writes a piece of text. Errors: kUnavailable with the system's reason.
using TextSink = std::function<Status(std::string_view)>;

/// Gives `produce` a sink to a file that takes its place when all of it is written: on an error
/// what was there stays. path: empty for standard output.
/// Errors: those of `produce`; kUnavailable if the file cannot be written.
Status WriteOutput(const std::string& path,
                   const std::function<Status(const TextSink& sink)>& produce);

}  // namespace tilewright
