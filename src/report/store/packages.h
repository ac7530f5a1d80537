#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "records/package/build.h"
#include "records/package/diff.h"
#include "records/package/installed.h"
#include "records/package/package.h"

// Packages of records as JSON and as text. Members "manifest" are the manifest of the file format
// (docs/packages.md).

namespace tilewright::report {

/// A package that was built. file: that it was written to.
nlohmann::ordered_json BuiltPackageJson(const std::string& file,
                                        const records::BuiltPackage& package);
std::string BuiltPackageText(const std::string& file, const records::BuiltPackage& package,
                             bool is_signed);

/// A package file that passed all checks.
nlohmann::ordered_json VerifiedPackageJson(const std::string& file,
                                           const records::Package& package);
std::string VerifiedPackageText(const std::string& file, const records::Package& package);
/// A package file that was rejected.
nlohmann::ordered_json RefusedPackageJson(const std::string& file, const Status& why);

/// A package that was installed. file: that it was read from.
nlohmann::ordered_json InstallJson(const std::string& file, const records::InstallResult& result);
std::string InstallText(const records::InstallResult& result);

/// Installed packages, in lookup order.
nlohmann::ordered_json InstalledJson(const records::InstalledList& list);
/// columns: maximum width of the table; 0: no limit. Without the problems of the list.
std::string InstalledText(const records::InstalledList& list, int columns);
/// Returns "NAME (DIGEST)", with the begin of the digest.
std::string PackageTitle(const records::InstalledPackage& package);

/// Tasks whose best configs differ, and the number of the others.
nlohmann::ordered_json DifferencesJson(const std::vector<records::TaskDifference>& tasks);
std::string DifferencesText(const std::vector<records::TaskDifference>& tasks, int columns);

}  // namespace tilewright::report
