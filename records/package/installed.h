#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/package/package.h"
#include "records/store.h"
#include "src/base/files/mapped_file.h"

namespace tilewright::records {

/// Installed packages: a directory with one subdirectory for each package, named by its digest. A
/// package is checked and unpacked once, when it is installed; later only its file is opened.
/// docs/packages.md states the trust model.

struct InstalledPackage {
  PackageManifest manifest;
  std::string digest;
  std::string signer_key;      ///< 64 hexadecimal digits; empty: unsigned
  std::string signer_comment;  ///< comment in the list of trusted keys
  std::string folder;
  std::int64_t database_bytes = 0;  ///< of the unpacked file
  std::string database_sha256;

  std::string DatabasePath() const { return folder + "/records.db"; }
  std::string PackagePath() const { return folder + "/package.twpkg"; }
  std::string SignerText() const;
};

/// Packages installed in a directory.
struct InstalledList {
  std::vector<InstalledPackage> packages;  ///< in lookup order
  std::vector<std::string> problems;       ///< skipped packages, with the reason for each
};

/// Lists the packages installed in `root`. A missing directory contains none. root: absolute.
/// Errors: kInvalidArgument if it is not absolute or not a directory.
Result<InstalledList> ListInstalled(const std::string& root);

struct InstallResult {
  InstalledPackage package;
  bool was_there = false;
  bool now_signed = false;            ///< was installed unsigned, replaced by its signed form
  std::vector<std::string> replaced;  ///< digests of the older packages of its name and signer
};

/// Installs a package that was read from `bytes`, first in the order. Replaces a package of the
/// same name and signer if that is not newer. Replaces an unsigned package by its signed form.
/// Errors: kInvalidArgument if a newer one is installed and `downgrade` is not set; kUnavailable if
/// writing fails.
Result<InstallResult> InstallPackage(const Package& package, std::string_view bytes,
                                     const std::string& root, bool downgrade);

/// Removes an installed package. Errors: kUnavailable.
Status RemoveInstalled(const InstalledPackage& package);

/// Returns the package in `packages` whose name is `which`, or whose digest begins with it.
/// Errors: kNotFound; kInvalidArgument if several match.
Result<InstalledPackage> FindInstalled(const std::vector<InstalledPackage>& packages,
                                       std::string_view which);

/// Reads everything again: checks the package file and its signature, and that the unpacked file is
/// unchanged. templates: as for ReadPackage.
/// Errors: kCorrupt, kUnsupported.
Status CheckInstalled(const InstalledPackage& package, const TrustPolicy& policy,
                      const TemplateRegistry* templates = nullptr);

/// Opens the records of an installed package. If they have an older schema, reads the package file
/// instead.
Result<Store> OpenInstalled(const InstalledPackage& package);

/// Installed package whose records stay readable after it is removed or replaced. Thread-safe.
class PinnedPackage {
 public:
  /// Pins a package.
  /// Errors: kNotFound if its files have been removed; kUnavailable.
  static Result<std::shared_ptr<const PinnedPackage>> Pin(const InstalledPackage& package);
  const InstalledPackage& package() const { return package_; }
  /// As OpenInstalled.
  Result<Store> Open() const;

 private:
  PinnedPackage(InstalledPackage package, std::shared_ptr<const MappedFile> database,
                std::shared_ptr<const MappedFile> file)
      : package_(std::move(package)), database_(std::move(database)), file_(std::move(file)) {}
  InstalledPackage package_;
  std::shared_ptr<const MappedFile> database_, file_;
};

/// Returns the package that replaced one in its directory: the same one reinstalled, or else the
/// first of its name and signer. None: it is not replaced.
/// Errors: as ListInstalled.
Result<std::optional<InstalledPackage>> FindReplacement(const InstalledPackage& package);

}  // namespace tilewright::records
