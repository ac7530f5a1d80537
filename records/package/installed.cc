// Directory of installed packages:
//
//   order                      digests, one a line, in lookup order
//   <digest>/package.twpkg     the original package
//   <digest>/records.db        its database, unpacked
//   <digest>/installed.json    result of the checks at installation
//
// A package is unpacked into a directory of another name, which is then renamed: readers see all of
// it or nothing. Packages that other users may write are skipped.

#include "records/package/installed.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "src/base/files/file.h"
#include "src/base/files/temp_name.h"
#include "src/base/json.h"
#include "src/base/strings.h"

namespace tilewright::records {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigestDigits = 64;
// A description is a manifest (64 KiB at most) and a few lines.
constexpr std::int64_t kMaxDescriptionBytes = 1 << 17;

/// Returns an empty text if only the owner, who is this user or root, may change the file or
/// directory.
std::string WritableByOthers(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return path + ": " + std::strerror(errno);
  if (S_ISLNK(info.st_mode)) return path + ": is a link";
  return UnsafePermissionReason(path);
}

/// Lock held while the package directory changes.
class FolderLock {
 public:
  explicit FolderLock(const std::string& root)
      : fd_(::open((root + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ >= 0) held_ = ::flock(fd_, LOCK_EX) == 0;
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool held() const { return held_; }

 private:
  int fd_;
  bool held_ = false;
};

bool IsDigest(std::string_view name) {
  return name.size() == kDigestDigits && std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::vector<std::string> ReadOrder(const std::string& root) {
  std::vector<std::string> order;
  auto text = ReadFile(root + "/order", 1 << 20);
  if (!text.ok()) return order;
  for (const std::string& line : Split(*text, '\n')) {
    if (IsDigest(line)) order.push_back(line);
  }
  return order;
}

Status WriteOrder(const std::string& root, const std::vector<std::string>& order) {
  std::string text;
  for (const std::string& digest : order) text += digest + "\n";
  return WriteFile(root + "/order", text);
}

std::string Describe(const InstalledPackage& package) {
  return DumpJson({{"digest", package.digest},
                   {"signer_key", package.signer_key},
                   {"signer_comment", package.signer_comment},
                   {"database_bytes", package.database_bytes},
                   {"database_sha256", package.database_sha256},
                   {"manifest", package.manifest.ToText()}},
                  2) +
         "\n";
}

Result<InstalledPackage> ReadOne(const std::string& root, const std::string& digest) {
  InstalledPackage package;
  package.folder = root + "/" + digest;
  const std::string path = package.folder + "/installed.json";
  for (const std::string& part : {package.folder, path, package.DatabasePath()}) {
    if (std::string why = WritableByOthers(part); !why.empty()) return Unsupported(why);
  }
  TW_ASSIGN_OR_RETURN(auto text, ReadFile(path, kMaxDescriptionBytes));
  auto json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext(path);
  const auto string = [&](const char* key) {
    const auto at = json->find(key);
    return at != json->end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  if (!json->is_object() || string("digest") != digest) {
    return Corrupt(path + ": does not describe this package");
  }
  auto manifest = PackageManifest::Parse(string("manifest"));
  if (!manifest.ok()) return manifest.status().WithContext(path);
  package.manifest = *std::move(manifest);
  package.digest = digest;
  package.signer_key = string("signer_key");
  package.signer_comment = string("signer_comment");
  package.database_sha256 = string("database_sha256");
  const auto bytes = json->find("database_bytes");
  if (bytes != json->end() && bytes->is_number_integer()) {
    package.database_bytes = bytes->get<std::int64_t>();
  }
  struct stat info {};
  if (::stat(package.DatabasePath().c_str(), &info) != 0 ||
      info.st_size != package.database_bytes) {
    return Corrupt(package.DatabasePath() + ": is not of " +
                   std::to_string(package.database_bytes) + " bytes; install the package again");
  }
  return package;
}

Status MakeFolder(const std::string& path) {
  std::error_code failed;
  const bool made = fs::create_directories(path, failed);
  if (failed) return Unavailable(path + ": cannot be made: " + failed.message());
  if (made) ::chmod(path.c_str(), 0755);  // independent of the umask: see WritableByOthers
  return {};
}

Status WriteReadOnly(const std::string& path, std::string_view contents) {
  TW_RETURN_IF_ERROR(WriteFile(path, contents));
  if (::chmod(path.c_str(), 0444) != 0) {
    return Unavailable(path + ": " + std::strerror(errno));
  }
  return {};
}

Status UnpackPackage(const Package& package, std::string_view bytes,
                     const InstalledPackage& installed, const std::string& root) {
  ScopedTempPath partial = ScopedTempPath::NextTo(root + "/");
  TW_RETURN_IF_ERROR(CreateNewFolder(partial.path()));
  // Independent of the umask: a package that others may write would be skipped.
  if (::chmod(partial.path().c_str(), 0755) != 0) {
    return Unavailable(partial.path() + ": " + std::strerror(errno));
  }
  TW_RETURN_IF_ERROR(WriteReadOnly(partial.path() + "/package.twpkg", bytes));
  TW_RETURN_IF_ERROR(WriteReadOnly(partial.path() + "/records.db", package.database));
  TW_RETURN_IF_ERROR(WriteReadOnly(partial.path() + "/installed.json", Describe(installed)));
  // If it is installed already, unsigned or damaged, the two directories are exchanged atomically:
  // concurrent readers find one of them. The old one is removed.
  if (::renameat2(AT_FDCWD, partial.path().c_str(), AT_FDCWD, installed.folder.c_str(),
                  RENAME_EXCHANGE) == 0) {
    return {};
  }
  std::error_code ignored;
  fs::remove_all(installed.folder, ignored);
  return partial.MoveTo(installed.folder);
}

Status RemoveLocked(const InstalledPackage& package, const std::string& root) {
  std::vector<std::string> order = ReadOrder(root);
  std::erase(order, package.digest);
  TW_RETURN_IF_ERROR(WriteOrder(root, order));
  // Removed from the list at once, even if removing its files fails.
  // The destructor removes it.
  const ScopedTempPath gone = ScopedTempPath::NextTo(root + "/.removed");
  std::error_code failed;
  fs::rename(package.folder, gone.path(), failed);
  if (failed) return Unavailable(package.folder + ": cannot be removed: " + failed.message());
  return {};
}

}  // namespace

std::string InstalledPackage::SignerText() const {
  if (signer_key.empty()) return "unsigned";
  const std::string key = signer_key.substr(0, 16);
  return signer_comment.empty() ? key : signer_comment + " (" + key + ")";
}

Result<InstalledList> ListInstalled(const std::string& root) {
  InstalledList list;
  if (!root.starts_with('/')) {
    return InvalidArgument("'" + root + "': expected the absolute path of a package directory");
  }
  if (!FileExists(root)) return list;
  if (std::string why = WritableByOthers(root); !why.empty()) {
    list.problems.push_back(why + "; no package in it is used");
    return list;
  }
  std::vector<std::string> digests;
  std::error_code failed;
  for (fs::directory_iterator at(root, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (IsDigest(name)) digests.push_back(name);
  }
  if (failed) return InvalidArgument(root + ": " + failed.message());
  std::ranges::sort(digests);
  const std::vector<std::string> order = ReadOrder(root);
  std::ranges::stable_sort(digests, {}, [&](const std::string& digest) {
    return std::ranges::find(order, digest) - order.begin();
  });
  for (const std::string& digest : digests) {
    auto package = ReadOne(root, digest);
    if (package.ok()) {
      list.packages.push_back(*std::move(package));
    } else {
      list.problems.push_back(package.status().message());
    }
  }
  return list;
}

Result<InstallResult> InstallPackage(const Package& package, std::string_view bytes,
                                     const std::string& root, bool downgrade) {
  TW_RETURN_IF_ERROR(MakeFolder(root));
  if (std::string why = WritableByOthers(root); !why.empty()) return Unsupported(why);
  const FolderLock lock(root);
  if (!lock.held()) return Unavailable(root + ": cannot be locked: " + std::strerror(errno));
  TW_ASSIGN_OR_RETURN(auto list, ListInstalled(root));
  InstallResult result;
  InstalledPackage installed;
  installed.manifest = package.manifest;
  installed.digest = package.digest;
  if (package.signer.has_value()) {
    installed.signer_key = package.signer->key.Hex();
    installed.signer_comment = package.signer->comment;
  }
  installed.folder = root + "/" + package.digest;
  installed.database_bytes = static_cast<std::int64_t>(package.database.size());
  installed.database_sha256 = Sha256Hex(package.database);
  std::vector<InstalledPackage> older;
  for (const InstalledPackage& other : list.packages) {
    if (other.digest == package.digest) {
      result.was_there = true;
      result.now_signed = other.signer_key.empty() && package.signer.has_value();
      // An installed signature is kept.
      if (!result.now_signed) installed = other;
      continue;
    }
    const bool same =
        other.manifest.name == installed.manifest.name && other.signer_key == installed.signer_key;
    if (!same) continue;
    if (other.manifest.newest_trial > installed.manifest.newest_trial && !downgrade) {
      return InvalidArgument(installed.manifest.name + ": a newer one is installed (" +
                             other.manifest.newest_trial + ", this one " +
                             installed.manifest.newest_trial +
                             "); --downgrade replaces it all the same");
    }
    older.push_back(other);
  }
  if (!result.was_there || result.now_signed) {
    TW_RETURN_IF_ERROR(UnpackPackage(package, bytes, installed, root));
  }
  std::vector<std::string> order = ReadOrder(root);
  std::erase(order, package.digest);
  order.insert(order.begin(), package.digest);
  TW_RETURN_IF_ERROR(WriteOrder(root, order));
  for (const InstalledPackage& other : older) {
    TW_RETURN_IF_ERROR(RemoveLocked(other, root));
    result.replaced.push_back(other.digest);
  }
  result.package = std::move(installed);
  return result;
}

Status RemoveInstalled(const InstalledPackage& package) {
  const std::string root = fs::path(package.folder).parent_path().string();
  const FolderLock lock(root);
  if (!lock.held()) return Unavailable(root + ": cannot be locked: " + std::strerror(errno));
  return RemoveLocked(package, root);
}

Result<InstalledPackage> FindInstalled(const std::vector<InstalledPackage>& packages,
                                       std::string_view which) {
  std::vector<InstalledPackage> found;
  for (const InstalledPackage& package : packages) {
    const bool by_digest = which.size() >= 6 && package.digest.starts_with(which);
    if (package.manifest.name == which || by_digest) found.push_back(package);
  }
  if (found.empty()) {
    return NotFound("'" + std::string(which) + "': no such package is installed");
  }
  if (found.size() > 1) {
    std::string digests;
    for (const InstalledPackage& package : found) digests += " " + package.digest.substr(0, 12);
    return InvalidArgument("'" + std::string(which) + "': several are installed:" + digests);
  }
  return std::move(found.front());
}

Status CheckInstalled(const InstalledPackage& package, const TrustPolicy& policy,
                      const TemplateRegistry* templates) {
  TW_ASSIGN_OR_RETURN(auto read, ReadPackageFile(package.PackagePath(), policy, templates));
  if (read.digest != package.digest) {
    return Corrupt(package.PackagePath() + ": is the package " + read.digest);
  }
  TW_ASSIGN_OR_RETURN(auto database, ReadFile(package.DatabasePath()));
  if (Sha256Hex(database) != package.database_sha256) {
    return Corrupt(package.DatabasePath() + ": was changed; install the package again");
  }
  return {};
}

namespace {

/// Returns the records of a package that an older program has unpacked: unpacks and migrates it
/// again, in memory. bytes: of its file. The signer was trusted at installation.
Result<Store> UnpackAgain(const InstalledPackage& package, std::string_view bytes) {
  TrustPolicy policy{{}, package.signer_key.empty()};
  if (!package.signer_key.empty()) {
    TW_ASSIGN_OR_RETURN(
        policy.keys, ParsePublicKeys("tilewright-ed25519 " + package.signer_key, package.folder));
  }
  auto read = ReadPackage(bytes, policy);
  if (!read.ok()) return read.status().WithContext(package.PackagePath());
  return Store::OpenImage(read->database, package.DatabasePath());
}

}  // namespace

Result<Store> OpenInstalled(const InstalledPackage& package) {
  auto store = Store::OpenImmutable(package.DatabasePath());
  if (store.status().code() != StatusCode::kUnsupported) return store;
  TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(package.PackagePath(), kMaxPackageBytes));
  return UnpackAgain(package, bytes);
}

Result<std::shared_ptr<const PinnedPackage>> PinnedPackage::Pin(const InstalledPackage& package) {
  TW_ASSIGN_OR_RETURN(auto database, MappedFile::Open(package.DatabasePath()));
  TW_ASSIGN_OR_RETURN(auto file, MappedFile::Open(package.PackagePath()));
  return std::shared_ptr<const PinnedPackage>(
      new PinnedPackage(package, std::move(database), std::move(file)));
}

Result<Store> PinnedPackage::Open() const {
  auto store = Store::OpenMapped(database_, package_.DatabasePath());
  if (store.status().code() != StatusCode::kUnsupported) return store;
  return UnpackAgain(package_, file_->bytes());
}

Result<std::optional<InstalledPackage>> FindReplacement(const InstalledPackage& package) {
  TW_ASSIGN_OR_RETURN(auto list, ListInstalled(fs::path(package.folder).parent_path().string()));
  std::optional<InstalledPackage> successor;
  for (InstalledPackage& other : list.packages) {
    if (other.digest == package.digest) return std::optional(std::move(other));
    const bool same =
        other.manifest.name == package.manifest.name && other.signer_key == package.signer_key;
    if (same && !successor.has_value()) successor = std::move(other);
  }
  return successor;
}

}  // namespace tilewright::records
