#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost_model/cost_model.h"
#include "records/catalog.h"
#include "src/base/json.h"
#include "src/base/status.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Whom to trust: `--key`, `--allow-unsigned`, and the user's trusted keys.
struct TrustArguments {
  std::vector<std::string> keys;
  bool allow_unsigned = false;
  void Declare(CLI::App& app);
  Result<records::TrustPolicy> Policy() const;
};

/// Where `query` and `compile` look for records, and how far down they go.
struct RecordSources {
  std::vector<std::string> stores, packages;
  bool no_packages = false;
  std::string accept;  ///< name of an AnswerLevel
  std::string model_file;
  TrustArguments trust;

  void Declare(CLI::App& app, const std::string& accept_default);
  /// Stores of --records (else the user's own, if there is one), packages of --package, then the
  /// installed ones, then the cost model of --model. What was left out is told on standard error.
  /// The catalog refers to this object.
  Result<records::Catalog> Open();
  /// --accept; a model that is given is asked.
  Result<records::AnswerLevel> Accept() const;

 private:
  std::unique_ptr<cost_model::CostModel> model_;
};

/// An answer as `query --json` has it.
Json AnswerJson(const Workload& workload, const Target& target, const DeviceFingerprint& device,
                const records::CatalogAnswer& answer);
/// The answer as lines for people; `whole` adds config, record and reason.
void PrintAnswer(const Workload& workload, const records::CatalogAnswer& answer, bool whole);

}  // namespace tilewright::cli
