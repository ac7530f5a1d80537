#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "records/installed.h"
#include "records/package.h"
#include "records/store.h"
#include "src/space/trial.h"

namespace tilewright::records {

/// How an answer came about, best first; a caller accepts answers down to one of these.
enum class AnswerLevel : std::uint8_t {
  kHit,      ///< measured for this workload, target and class of device
  kNearHit,  ///< measured for something near, with an expected slowdown
  kModel,    ///< not measured: a cost model's choice
  kDefault,  ///< not measured: the template's default config
  kMiss,
};
/// "hit", "near", "model", "default", "miss".
std::string_view AnswerLevelName(AnswerLevel level);
Result<AnswerLevel> ParseAnswerLevel(std::string_view name);

/// What a cost model proposes without measuring.
struct ModelChoice {
  Candidate candidate;
  double expected_slowdown = 1;  ///< against a tuned config, stated bound
  std::string explanation;       ///< which model, trained on what
};
/// None: the model has nothing to say about the workload on the target.
using ModelChooser =
    std::function<Result<std::optional<ModelChoice>>(const Workload&, const Target&)>;

struct CatalogAnswer {
  AnswerLevel level = AnswerLevel::kMiss;
  Answer answer;                       ///< explanation never empty; a record for kHit and kNearHit
  std::optional<Candidate> candidate;  ///< what to build; none for kMiss
  std::string source;            ///< path of the store, "package NAME (digest)", "model", "default"
  const Store* store = nullptr;  ///< that gave the record; lives as long as the catalog
};

/// Where answers come from, in order of precedence: stores in the order in which they were added
/// (the user's own), then packages in theirs, then near hits of all of them, then a cost model's
/// choice, then the default config.
///
/// Not thread-safe, as a Store is not. Packages are opened when a query first needs them.
class Catalog {
 public:
  Catalog();
  Catalog(Catalog&&) noexcept;
  Catalog& operator=(Catalog&&) noexcept;
  ~Catalog();

  void AddStore(Store store);
  /// A package given as a file: read, checked and unpacked into memory at once.
  /// Errors: as ReadPackageFile.
  Status AddPackageFile(const std::string& path, const TrustPolicy& policy);
  void AddInstalled(InstalledPackage package);
  /// Every package of these folders, in order. Those that cannot be used are told in problems().
  /// Errors: as ListInstalled.
  Status AddInstalledFrom(const std::vector<std::string>& roots);
  void SetModel(ModelChooser model);

  /// The best answer, none worse than `accept`. A miss is no error; it names the nearest workloads
  /// with records.
  /// Errors: those of Store::Query, naming the store or package.
  Result<CatalogAnswer> Query(const Workload& workload, const Target& target,
                              const DeviceFingerprint& device,
                              AnswerLevel accept = AnswerLevel::kNearHit);

  /// Packages that were left out, and why.
  const std::vector<std::string>& problems() const;
  std::size_t size() const;  ///< stores and packages

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::records
