#include "src/session/packages/packages.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "src/base/files/file.h"
#include "src/session/user_paths.h"

namespace tilewright::session {

namespace fs = std::filesystem;

Result<std::vector<std::string>> PackageFiles(const std::vector<std::string>& files_and_folders) {
  std::vector<std::string> files;
  for (const std::string& argument : files_and_folders) {
    std::error_code failed;
    if (!fs::is_directory(argument, failed)) {
      files.push_back(argument);
      continue;
    }
    std::vector<std::string> found;
    for (fs::directory_iterator at(argument, failed), end; !failed && at != end;
         at.increment(failed)) {
      if (at->path().extension() == records::kPackageExtension) found.push_back(at->path());
    }
    if (failed) return InvalidArgument(argument + ": " + failed.message());
    if (found.empty()) return NotFound(argument + ": no package files (*.twpkg) in this folder");
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

Result<records::InstalledList> InstalledPackages() {
  records::InstalledList all;
  for (const std::string& root : PackageRoots()) {
    TW_ASSIGN_OR_RETURN(auto list, records::ListInstalled(root));
    std::ranges::move(list.packages, std::back_inserter(all.packages));
    std::ranges::move(list.problems, std::back_inserter(all.problems));
  }
  return all;
}

Result<std::vector<records::InstalledPackage>> FindInstalledPackages(
    const std::vector<std::string>& names) {
  TW_ASSIGN_OR_RETURN(const auto list, InstalledPackages());
  std::vector<records::InstalledPackage> found;
  for (const std::string& name : names) {
    TW_ASSIGN_OR_RETURN(auto package, records::FindInstalled(list.packages, name));
    found.push_back(std::move(package));
  }
  return found;
}

Result<records::InstallResult> InstallPackageFile(const std::string& file,
                                                  const records::TrustPolicy& policy,
                                                  const TemplateRegistry& templates,
                                                  const std::string& root, bool downgrade) {
  TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(file, records::kMaxPackageBytes));
  auto package = records::ReadPackage(bytes, policy, &templates);
  if (!package.ok()) return records::NotAPackage(package.status(), bytes, file);
  return records::InstallPackage(*package, bytes, root, downgrade);
}

Result<records::Store> OpenPackage(const std::string& file_or_name, const TrustOptions& trust,
                                   const TemplateRegistry& templates) {
  if (FileExists(file_or_name)) {
    TW_ASSIGN_OR_RETURN(auto policy, trust.Policy());
    TW_ASSIGN_OR_RETURN(auto package, records::ReadPackageFile(file_or_name, policy, &templates));
    return records::Store::OpenImage(package.database, file_or_name);
  }
  TW_ASSIGN_OR_RETURN(const auto found, FindInstalledPackages({file_or_name}));
  return records::OpenInstalled(found.front());
}

Result<KeyTrust> TrustKey(const records::PublicKey& key, const std::string& comment) {
  TW_ASSIGN_OR_RETURN(const auto paths, FindUserPaths());
  TW_ASSIGN_OR_RETURN(const auto known, records::ReadTrustedKeys(paths.trusted_keys));
  KeyTrust trust{std::ranges::find(known, key, &records::TrustedKey::key) != known.end(),
                 paths.trusted_keys};
  if (trust.was_known) return trust;
  std::string text;
  if (FileExists(trust.file)) {
    TW_ASSIGN_OR_RETURN(text, ReadFile(trust.file));
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  TW_RETURN_IF_ERROR(
      records::WriteTrustedKeys(trust.file, text + records::PublicKeyLine(key, comment)));
  return trust;
}

}  // namespace tilewright::session
