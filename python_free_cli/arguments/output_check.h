#pragma once

#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Checks the values of --output and --into before the work begins: their folders exist, and none
/// is a file that the command reads or a file of another kind than the command writes, such as a
/// record store, a model, a package or a log. app: parsed, with all of its options. Errors:
/// kInvalidArgument.
Status CheckOutputs(const CLI::App& app);

}  // namespace tilewright::cli
