#pragma once

#include <initializer_list>
#include <string_view>

#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// For options that a command has, but that mean nothing beside the others that were given.
/// options: as declared, such as "--runtime".
/// Errors: kInvalidArgument as "--runtime: WHY" for the first that the command line has.
Status RejectOptions(const CLI::App& app, std::initializer_list<const char*> options,
                     std::string_view why);

}  // namespace tilewright::cli
