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

/// Installed packages: a folder of folders, one for each, named by its digest. A package is checked
/// and unpacked once, when it is installed; opening it is opening a file. docs/packages.md says
/// what that trusts.

struct InstalledPackage {
  PackageManifest manifest;
  std::string digest;
  std::string signer_key;      ///< 64 hexadecimal digits; empty: unsigned
  std::string signer_comment;  ///< as the trusted keys had it
  std::string folder;
  std::int64_t database_bytes = 0;  ///< of the unpacked file
  std::string database_sha256;

  std::string DatabasePath() const { return folder + "/records.db"; }
  std::string PackagePath() const { return folder + "/package.twpkg"; }
  std::string SignerText() const;
};

/// What is installed in a folder.
struct InstalledList {
  std::vector<InstalledPackage> packages;  ///< in the order in which they are asked
  std::vector<std::string> problems;       ///< packages left out, and why
};

/// A folder that is not there holds nothing. root: absolute.
/// Errors: kInvalidArgument if it is not absolute or not a folder.
Result<InstalledList> ListInstalled(const std::string& root);

struct InstallResult {
  InstalledPackage package;
  bool was_there = false;
  bool now_signed = false;            ///< was there unsigned, and has taken its signed form
  std::vector<std::string> replaced;  ///< digests of older ones of its name and signer
};

/// Installs a package that was read from `bytes`, before the others in order; one of the same name
/// and signer is replaced if it is not newer. One that is there unsigned becomes its signed form.
/// Errors: kInvalidArgument if a newer one is installed and `downgrade` is not set; kUnavailable if
/// the disk refuses.
Result<InstallResult> InstallPackage(const Package& package, std::string_view bytes,
                                     const std::string& root, bool downgrade);

/// Removes an installed package. Errors: kUnavailable.
Status RemoveInstalled(const InstalledPackage& package);

/// The package in `packages` whose name is `which`, or whose digest begins with it.
/// Errors: kNotFound; kInvalidArgument if there are several.
Result<InstalledPackage> FindInstalled(const std::vector<InstalledPackage>& packages,
                                       std::string_view which);

/// Reads everything again: the package file and its signature, and that the unpacked file is what
/// it was. templates: as of ReadPackage. Errors: kCorrupt, kUnsupported.
Status CheckInstalled(const InstalledPackage& package, const TrustPolicy& policy,
                      const TemplateRegistry* templates = nullptr);

/// Opens the records of an installed package; one of an older schema from its package file.
Result<Store> OpenInstalled(const InstalledPackage& package);

/// An installed package whose records stay readable when it is removed or replaced. Thread-safe.
class PinnedPackage {
 public:
  /// Errors: kNotFound if its files are not there any more; kUnavailable.
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

/// What has taken the place of a package in its folder: the same one installed anew, or else the
/// first of its name and signer. None: nothing has.
/// Errors: as ListInstalled.
Result<std::optional<InstalledPackage>> FindReplacement(const InstalledPackage& package);

}  // namespace tilewright::records
