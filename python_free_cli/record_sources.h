#pragma once

#include <string>
#include <vector>

#include "src/session/record_sources.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Declares `--key` and `--allow-unsigned`.
void DeclareTrust(CLI::App& app, session::TrustOptions& trust);

/// Options of `query` and `compile` for record sources and the lowest accepted answer level.
struct RecordArguments : session::RecordSources {
  /// networks: the command compiles networks, for which --prefer also chooses number formats.
  void Declare(CLI::App& app, const std::string& accept_default, bool networks = false);
};

/// Returns the paths of the stores that these sources read: the given ones, else the user's own if
/// it exists. Errors: those of session::UserStorePath.
Result<std::vector<std::string>> StoresToRead(const session::RecordSources& sources);

}  // namespace tilewright::cli
