#include "src/base/files/locked_temp_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "src/base/files/file.h"

namespace tilewright {
namespace {

/// Enough for artifacts, reference results and the linker's input.
constexpr std::int64_t kRoomBytes = std::int64_t{256} << 20;

std::vector<std::string> CandidateTempRoots() {
  std::vector<std::string> roots = {"/dev/shm"};
  const auto add = [&roots](const char* variable, const std::string& rest) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value == '/') roots.push_back(value + rest);
  };
  add("TMPDIR", "");
  roots.insert(roots.end(), {"/tmp", "/var/tmp"});
  add("XDG_CACHE_HOME", "/tilewright");
  add("HOME", "/.cache/tilewright");
  return roots;
}

/// Returns the bytes that this user can write below `root`, or the reason why none.
Result<std::int64_t> FreeBytesIn(const std::string& root) {
  struct statvfs info {};
  if (::statvfs(root.c_str(), &info) != 0 || ::access(root.c_str(), W_OK | X_OK) != 0) {
    return Unavailable(root + ": " + ErrnoReason());
  }
  if ((info.f_flag & ST_RDONLY) != 0) return Unavailable(root + ": mounted read-only");
  if ((info.f_flag & ST_NOEXEC) != 0) return Unavailable(root + ": mounted noexec");
  // Some file systems do not count files.
  if (info.f_files > 0 && info.f_favail < 16) return Unavailable(root + ": no free inodes");
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

/// Returns true for a name that LockedTempDir creates, or that measurers of older versions created.
bool IsOurs(std::string_view name) {
  if (!name.starts_with("tilewright-")) return false;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  return (name.substr(dot).starts_with(".tmp") && name.size() - dot == 10) ||
         name.starts_with("tilewright-measure-");
}

/// Locks a directory of this user and returns its descriptor; -1 if it has an owner, or cannot be
/// opened.
int LockDirectory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  struct stat info {};
  // Between its creation and its locking another process may have removed it as abandoned.
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &info) == 0 && info.st_nlink > 0 &&
      info.st_uid == ::geteuid()) {
    return fd;
  }
  ::close(fd);
  return -1;
}

}  // namespace

Result<std::string> TemporaryRoot() {
  std::string best, problems;
  std::int64_t most = 0;
  for (const std::string& root : CandidateTempRoots()) {
    if (root.ends_with("/tilewright")) {  // the cache directory is created on demand
      std::error_code ignored;
      std::filesystem::create_directories(root, ignored);
    }
    const auto room = FreeBytesIn(root);
    if (!room.ok() || *room <= most) {
      problems += (problems.empty() ? "" : "; ") +
                  (room.ok() ? root + ": not enough free space" : room.status().message());
      continue;
    }
    best = root;
    most = *room;
    if (most >= kRoomBytes) break;
  }
  if (best.empty()) {
    return Unavailable("no directory for temporary files (" + problems +
                       "): set TMPDIR to a writable one that is not mounted noexec and has free "
                       "space");
  }
  return best;
}

void LockedTempDir::RemoveAbandoned(const std::string& root) {
  std::error_code error;
  std::filesystem::directory_iterator entries(root, error), end;
  while (!error && entries != end) {
    if (IsOurs(entries->path().filename().string())) {
      const int lock = LockDirectory(entries->path());
      if (lock >= 0) {
        std::error_code ignored;
        std::filesystem::remove_all(entries->path(), ignored);
        ::close(lock);
      }
    }
    entries.increment(error);
  }
}

Result<LockedTempDir> LockedTempDir::Create(std::string_view prefix) {
  TW_CHECK(prefix.starts_with("tilewright-"), prefix);
  [[maybe_unused]] static const bool cleaned = [] {
    for (const std::string& root : CandidateTempRoots()) RemoveAbandoned(root);
    return true;
  }();
  TW_ASSIGN_OR_RETURN(auto root, TemporaryRoot());
  // An attempt fails only if another process starts at the same instant.
  constexpr int kAttempts = 8;
  for (int i = 0; i < kAttempts; ++i) {
    std::string path = root + "/" + std::string(prefix) + ".tmpXXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return Unavailable("cannot create a temporary directory in " + root + ": " + ErrnoReason());
    }
    ScopedTempPath folder(path);
    const int lock = LockDirectory(path);
    if (lock >= 0) return LockedTempDir(std::move(folder), lock);
    if (errno == EMFILE || errno == ENFILE) {
      return Unavailable(path + ": cannot be locked: " + ErrnoReason());
    }
  }
  return Unavailable("cannot lock a temporary directory in " + root);
}

LockedTempDir::LockedTempDir(LockedTempDir&& other) noexcept
    : lock_(std::exchange(other.lock_, -1)), folder_(std::move(other.folder_)) {}

LockedTempDir::~LockedTempDir() {
  { const ScopedTempPath removed = std::move(folder_); }  // while it is locked
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace tilewright
