#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/front/front.h"
#include "records/package/catalog.h"
#include "search/tuner.h"
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
  std::string accept;      ///< name of an AnswerLevel
  std::string model_file;  ///< empty: the shipped one, if there is one; "none": no model
  std::string rule = "own", tophub;
  std::string prefer;
  TrustArguments trust;

  void Declare(CLI::App& app, const std::string& accept_default);
  /// templates: outlives the catalog. Stores of --records (else the user's own, if there is one),
  /// packages of --package, then the installed ones, then the cost model of --model. What was left
  /// out is told on standard error. Errors: those of opening them; kInvalidArgument for packages by
  /// AutoTVM's rule, and for trust without packages.
  Result<records::Catalog> Open(const TemplateRegistry& templates, const Target& target) const;
  /// --prefer; none if it was not given.
  /// Errors: kInvalidArgument with --rule autotvm; those of Preference::Parse.
  Result<std::optional<records::Preference>> Preferred(const Target& target) const;
  /// --accept; a model that is given is asked.
  Result<records::AnswerLevel> Accept() const;
  /// What --rule autotvm looks at; none by our own rule.
  /// Errors: kInvalidArgument for --tophub without it.
  Result<std::optional<records::AutotvmLookup>> Autotvm(const Target& target) const;

 private:
  Status AddModel(const TemplateRegistry& templates, const Target& target,
                  records::Catalog& catalog) const;
};

/// Divides the limit of a preference among the tasks of a network (records::ShareLimit); those that
/// no record says it of are told on standard error, and count for nothing.
Status ShareLimitOf(const std::vector<search::TuneTask>& tasks, const TemplateRegistry& templates,
                    const Target& target, const DeviceFingerprint& device,
                    records::Catalog& catalog, records::Preference& prefer);

/// The answer as lines for people; `whole` adds config, record and reason. workload: null if we
/// have no such operator; `name` then stands for it.
void PrintAnswer(const Workload* workload, const std::string& name,
                 const records::CatalogAnswer& answer, bool whole);

}  // namespace tilewright::cli
