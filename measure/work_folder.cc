#include "measure/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

namespace tilewright::measure {
namespace {

constexpr std::string_view kPrefix = "tilewright-measure-";

/// Descriptor of a folder that is now locked; -1 if it has an owner, or cannot be opened.
int LockFolder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  struct stat info {};
  // Between its making and its locking another process may have taken it for abandoned.
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &info) == 0 && info.st_nlink > 0) {
    return fd;
  }
  ::close(fd);
  return -1;
}

}  // namespace

void WorkFolder::RemoveAbandoned(const std::string& root) {
  std::error_code error;
  std::filesystem::directory_iterator entries(root, error), end;
  while (!error && entries != end) {
    if (entries->path().filename().string().starts_with(kPrefix)) {
      const int lock = LockFolder(entries->path());
      if (lock >= 0) {
        std::error_code ignored;
        std::filesystem::remove_all(entries->path(), ignored);
        ::close(lock);
      }
    }
    entries.increment(error);
  }
}

Result<WorkFolder> WorkFolder::Create() {
  for (const char* root : {"/dev/shm", "/tmp"}) RemoveAbandoned(root);
  constexpr int kAttempts = 8;  // one is lost only where another measurer starts at that instant
  for (int i = 0; i < kAttempts; ++i) {
    auto folder = TemporaryFolder::Create(std::string(kPrefix) + std::to_string(::getpid()));
    TW_RETURN_IF_ERROR(folder);
    const int lock = LockFolder(folder->path());
    if (lock >= 0) return WorkFolder(*std::move(folder), lock);
  }
  return Unavailable("no temporary folder can be locked in /dev/shm or /tmp");
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : lock_(std::exchange(other.lock_, -1)), folder_(std::move(other.folder_)) {}

WorkFolder::~WorkFolder() {
  { const TemporaryFolder removed = std::move(folder_); }  // while it is locked
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace tilewright::measure
