// A signal handler may neither allocate nor lock. So it reads the paths from a fixed table and
// walks directories with system calls only. The handler or the object that removes an entry from
// the table owns it; the handler never returns an entry.

#include "src/base/files/scoped_temp_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "src/base/files/file.h"
#include "src/base/files/temp_name.h"

namespace tilewright {
namespace {

constexpr int kMaxFolderDepth = 8;  // nesting of directories; no output has more than two levels
// More objects than a program has at once; one without an entry is removed only by its destructor.
constexpr std::size_t kMaxWatched = 256;
// Global, because a signal handler has access to nothing else.
std::array<std::atomic<const WatchedPath*>, kMaxWatched> watched_paths;

void RemoveAt(int folder, const char* name, int depth) {
  if (::unlinkat(folder, name, 0) == 0 || depth == 0) return;
  const int inside = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (inside < 0) return;
  alignas(dirent64) char entries[4096];
  ssize_t count = 0;
  while ((count = ::getdents64(inside, entries, sizeof entries)) > 0) {
    for (ssize_t at = 0; at < count;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const std::string_view inner = entry->d_name;
      if (inner != "." && inner != "..") RemoveAt(inside, entry->d_name, depth - 1);
    }
  }
  ::close(inside);
  ::unlinkat(folder, name, AT_REMOVEDIR);
}

std::unique_ptr<const WatchedPath> Watch(const std::string& path) {
  auto watched = std::make_unique<const WatchedPath>(WatchedPath{::getpid(), path});
  for (std::atomic<const WatchedPath*>& entry : watched_paths) {
    const WatchedPath* nothing = nullptr;
    if (entry.compare_exchange_strong(nothing, watched.get())) return watched;
  }
  return nullptr;
}

/// Returns the target of a dangling symbolic link; other paths unchanged.
std::string LinkedName(const std::string& path) {
  constexpr int kMaxLinks = 40;  // the kernel's limit
  std::filesystem::path name = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code failed;
    const auto next = std::filesystem::read_symlink(name, failed);
    if (failed) return name.string();
    name = name.parent_path() / next;  // an absolute target replaces the path
  }
  return path;
}

void OnSignal(int signal) {
  const pid_t process = ::getpid();  // a forked child has the table, but does not own the files
  for (std::atomic<const WatchedPath*>& entry : watched_paths) {
    const WatchedPath* watched = entry.exchange(nullptr);
    if (watched == nullptr || watched->process != process) continue;
    RemoveAt(AT_FDCWD, watched->path.c_str(), kMaxFolderDepth);
  }
  ::raise(signal);  // ends the process: the handler was reset
}

}  // namespace

ScopedTempPath::ScopedTempPath(std::string path) : path_(std::move(path)), watched_(Watch(path_)) {}

ScopedTempPath ScopedTempPath::NextTo(const std::string& path) {
  return ScopedTempPath(UniqueTempName(path));
}

ScopedTempPath::~ScopedTempPath() {
  if (!path_.empty() && Unwatch()) RemoveAt(AT_FDCWD, path_.c_str(), kMaxFolderDepth);
}

void ScopedTempPath::Swap(ScopedTempPath& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(watched_, other.watched_);
}

bool ScopedTempPath::Unwatch() {
  if (watched_ == nullptr) return true;
  for (std::atomic<const WatchedPath*>& entry : watched_paths) {
    const WatchedPath* mine = watched_.get();
    if (!entry.compare_exchange_strong(mine, nullptr)) continue;
    watched_.reset();
    return true;
  }
  (void)watched_.release();  // the handler reads it
  return false;
}

Status ScopedTempPath::MoveTo(const std::string& to) {
  struct stat there {};
  if (::stat(to.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
    return Unavailable(to + ": cannot be written: is neither a file nor a directory");
  }
  if (std::rename(path_.c_str(), to.c_str()) != 0) {
    return Unavailable(to + ": cannot be written: " + ErrnoReason());
  }
  (void)Unwatch();
  path_.clear();
  return {};
}

std::optional<std::string> FileToReplace(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return LinkedName(path);
  if (!S_ISREG(there.st_mode)) return std::nullopt;
  std::error_code failed;
  const auto file = std::filesystem::canonical(path, failed);
  return failed ? path : file.string();
}

void RemoveTempPathsOnSignal() {
  for (int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // keep an ignored signal ignored, as nohup sets it
    struct sigaction action {};
    action.sa_handler = &OnSignal;
    action.sa_flags = SA_RESETHAND;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace tilewright
