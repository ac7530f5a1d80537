#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "records/lookup.h"
#include "records/package/installed.h"
#include "records/package/package.h"
#include "records/store.h"

namespace tilewright::records {

/// Pareto front of a task and its metrics.
struct FrontByMetrics {
  std::vector<std::string> metrics;
  std::vector<Record> records;
};

/// Record sources of one thread, in lookup order: stores in the order in which they were added,
/// then packages in theirs, then the fallbacks of records/lookup.h.
///
/// Not thread-safe, like Store. Packages are opened when a query first needs them.
class Catalog {
 public:
  Catalog();
  Catalog(Catalog&&) noexcept;
  Catalog& operator=(Catalog&&) noexcept;
  ~Catalog();

  void AddStore(Store store);
  /// Adds a package file: reads, checks and unpacks it into memory at once.
  /// Errors: as ReadPackageFile.
  Status AddPackageFile(const std::string& path, const TrustPolicy& policy);
  void AddInstalled(InstalledPackage package);
  /// Adds every package of these directories, in order. Unusable packages are skipped and listed in
  /// problems().
  /// Errors: as ListInstalled.
  Status AddInstalledFrom(const std::vector<std::string>& roots);
  void SetModel(std::unique_ptr<ModelChooser> model);

  /// Returns the best result of an accepted level. A miss is not an error; its explanation names
  /// the nearest workloads with records.
  /// Errors: as LookUpBest.
  Result<CatalogAnswer> Query(const LookupRequest& request);

  /// Returns the Pareto front over the first set of metrics for which the task has complete
  /// records. The sets are: all metrics of the target, then its first metric with each of the
  /// others, as jobs request them. The metrics are empty if there is no front.
  /// Errors: as LookUpFront.
  Result<FrontByMetrics> TaskFront(const LookupRequest& request);
  /// Returns the imported records of a workload in all stores, for any target.
  Result<ImportedTargets> ImportedFor(const Workload& workload);
  /// See LookUpFront.
  Result<std::vector<Record>> Front(const LookupRequest& request,
                                    const std::vector<std::string>& metrics);

  /// Calls `visit` with each store and package in lookup order; packages that cannot be opened are
  /// skipped. Stops at the first error of `visit` and returns it, with the source's name.
  Status ForEachStore(const std::function<Status(const Store&)>& visit);

  /// Returns the skipped packages with the reason for each.
  const std::vector<std::string>& problems() const;
  std::size_t size() const;  ///< number of stores and packages

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns "package NAME (digest)", the source name in lookup results.
std::string PackageSourceName(const PackageManifest& manifest, std::string_view digest);

/// Returns true if a package of these targets can serve the request. A package contains only
/// Tilewright's trials, for the kinds of its targets.
bool PackageMayServe(const PackageManifest& manifest, const LookupRequest& request);

}  // namespace tilewright::records
