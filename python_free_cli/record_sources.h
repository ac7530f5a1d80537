#pragma once

#include <string>

#include "src/session/record_sources.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Declares `--key` and `--allow-unsigned`.
void DeclareTrust(CLI::App& app, session::TrustOptions& trust);

/// Options of `query` and `compile` for record sources and the lowest accepted answer level.
struct RecordArguments : session::RecordSources {
  void Declare(CLI::App& app, const std::string& accept_default);
};

}  // namespace tilewright::cli
