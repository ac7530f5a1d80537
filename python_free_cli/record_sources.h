#pragma once

#include <string>

#include "records/package/catalog.h"
#include "src/session/record_sources.h"
#include "src/tensor/workload.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Options `--key` and `--allow-unsigned`.
void DeclareTrust(CLI::App& app, session::TrustOptions& trust);

/// Options of `query` and `compile` that say where records come from, and how far down an answer
/// may be.
struct RecordArguments : session::RecordSources {
  void Declare(CLI::App& app, const std::string& accept_default);
};

/// Prints an answer as lines for people; `whole` adds config, record and reason. workload: null if
/// we have no such operator; `name` then stands for it.
void PrintAnswer(const Workload* workload, const std::string& name,
                 const records::CatalogAnswer& answer, bool whole);

}  // namespace tilewright::cli
