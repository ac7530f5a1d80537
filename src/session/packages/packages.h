#pragma once

#include <string>
#include <vector>

#include "records/package/installed.h"
#include "records/package/signing.h"
#include "records/store.h"
#include "src/base/status.h"
#include "src/session/record_sources.h"

// Packages of records of this machine: installed ones, files of others, and the keys that the user
// trusts.

namespace tilewright::session {

/// Returns package files: the named ones, and those in named folders, by name.
/// Errors: kInvalidArgument for an unreadable folder; kNotFound for one without packages.
Result<std::vector<std::string>> PackageFiles(const std::vector<std::string>& files_and_folders);

/// Returns every installed package, in lookup order. Errors: those of records::ListInstalled.
Result<records::InstalledList> InstalledPackages();
/// Returns the installed packages with these names or prefixes of digests.
/// Errors: those of InstalledPackages and records::FindInstalled.
Result<std::vector<records::InstalledPackage>> FindInstalledPackages(
    const std::vector<std::string>& names);

/// Reads and checks a package file, and installs it. root: folder of installed packages.
/// Errors: those of records::ReadPackage and records::InstallPackage.
Result<records::InstallResult> InstallPackageFile(const std::string& file,
                                                  const records::TrustPolicy& policy,
                                                  const TemplateRegistry& templates,
                                                  const std::string& root, bool downgrade);

/// Opens the records of a package file, or of an installed package of this name.
/// Errors: those of TrustOptions::Policy, records::ReadPackageFile and FindInstalledPackages.
Result<records::Store> OpenPackage(const std::string& file_or_name, const TrustOptions& trust,
                                   const TemplateRegistry& templates);

/// Key that the user trusts from now on.
struct KeyTrust {
  bool was_known = false;
  std::string file;  ///< list of trusted keys
};
/// Adds a key to the user's trusted keys. Errors: those of FindUserPaths and of reading and writing
/// the list.
Result<KeyTrust> TrustKey(const records::PublicKey& key, const std::string& comment);

}  // namespace tilewright::session
