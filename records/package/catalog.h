#pragma once

#include <memory>
#include <string>
#include <vector>

#include "records/lookup.h"
#include "records/package/installed.h"
#include "records/package/package.h"
#include "records/store.h"

namespace tilewright::records {

/// What no other record beats in all of some metrics.
struct FrontByMetrics {
  std::vector<std::string> metrics;
  std::vector<Record> records;
};

/// Where answers come from, for one thread: stores in the order in which they were added (the
/// user's own), then packages in theirs, then what records/lookup.h says.
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
  void SetModel(std::unique_ptr<ModelChooser> model);

  /// The best answer of an accepted level. A miss is no error; it names the nearest workloads with
  /// records.
  /// Errors: as LookUpBest.
  Result<CatalogAnswer> Query(const LookupRequest& request);

  /// By the first metrics that some records of the task know all of: all of the target's, then the
  /// first of these with each of the others, as jobs ask for some. Without metrics: there is none.
  /// Errors: as LookUpFront.
  Result<FrontByMetrics> TaskFront(const LookupRequest& request);
  /// See LookUpFront.
  Result<std::vector<Record>> Front(const LookupRequest& request,
                                    const std::vector<std::string>& metrics);

  /// Packages that were left out, and why.
  const std::vector<std::string>& problems() const;
  std::size_t size() const;  ///< stores and packages

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "package NAME (digest)", as answers name it.
std::string PackageSourceName(const PackageManifest& manifest, std::string_view digest);

/// Whether a package of these targets can have an answer: it holds trials of ours only, of those
/// kinds of target.
bool PackageMayServe(const PackageManifest& manifest, const LookupRequest& request);

}  // namespace tilewright::records
