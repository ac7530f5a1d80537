#pragma once

#include <initializer_list>
#include <string_view>

#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Rejects options that have no effect with the other given options. options: as declared, such as
/// "--runtime".
/// Errors: kInvalidArgument as "--runtime: WHY" for the first one on the command line.
Status RejectOptions(const CLI::App& app, std::initializer_list<const char*> options,
                     std::string_view why);

}  // namespace tilewright::cli
