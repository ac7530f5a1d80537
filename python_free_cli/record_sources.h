#pragma once

#include <string>

#include "records/package/catalog.h"
#include "src/session/record_sources.h"
#include "src/tensor/workload.h"

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

/// Prints an answer as lines of text; `whole` adds config, record and reason. workload: null for an
/// operator without an equivalent here; then `name` is printed.
void PrintAnswer(const Workload* workload, const std::string& name,
                 const records::CatalogAnswer& answer, bool whole);

}  // namespace tilewright::cli
