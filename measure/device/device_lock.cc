#include "measure/device/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include "src/base/clock.h"

namespace tilewright::measure {

namespace {

/// Returns " (process 77 of user 1000)": the owner of the file's lock, if the system reports it.
std::string HolderText(int fd) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return {};
  char inode[64];
  std::snprintf(inode, sizeof inode, "%02x:%02x:%llu", major(file.st_dev), minor(file.st_dev),
                static_cast<unsigned long long>(file.st_ino));
  std::ifstream locks("/proc/locks");
  std::string line;
  while (std::getline(locks, line)) {
    // 1: FLOCK  ADVISORY  WRITE 77 00:16:4567 0 EOF
    std::istringstream words(line);
    std::string number, kind, mode, access, process, place;
    words >> number >> kind >> mode >> access >> process >> place;
    if (kind != "FLOCK" || place != inode) continue;
    struct stat owner {};
    if (::stat(("/proc/" + process).c_str(), &owner) != 0) return {};
    return " (process " + process + " of user " + std::to_string(owner.st_uid) + ")";
  }
  return {};
}

/// Returns a descriptor of a file that belongs to this user and that no other user can open; -1 on
/// failure.
int OpenOwnFile(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int fd = ::open(path.c_str(), kFlags);
  if (fd < 0 && errno == ENOENT) fd = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0600);
  if (fd < 0 && errno == EEXIST) fd = ::open(path.c_str(), kFlags);  // created concurrently
  struct stat file {};
  const bool own = fd >= 0 && ::fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
                   file.st_uid == ::geteuid() && (file.st_mode & 077) == 0;
  if (own) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

}  // namespace

Result<DeviceLock> DeviceLock::TakeCoreOfUser(int core, std::span<const std::string> folders) {
  const std::string name =
      "/tilewright-core-" + std::to_string(core) + "-user-" + std::to_string(::geteuid()) + ".lock";
  for (const std::string& folder : folders) {
    const int fd = OpenOwnFile(folder + name);
    if (fd >= 0) return Lock(fd, folder + name, "core " + std::to_string(core), 0);
  }
  return Unsupported("no folder can have a lock file of this user");
}

Result<DeviceLock> DeviceLock::Take(const std::string& folder, const std::string& name,
                                    double wait_seconds) {
  std::string path = folder + "/tilewright-device-";
  for (const char c : name) path += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  path += ".lock";
  // Read access suffices to lock a file of any owner. With O_CREAT the kernel may refuse to open
  // another user's file there (fs.protected_regular).
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  int fd = ::open(path.c_str(), kFlags);
  if (fd < 0 && errno == ENOENT) fd = ::open(path.c_str(), kFlags | O_CREAT, 0644);
  return Lock(fd, path, "device " + name, wait_seconds);
}

Result<DeviceLock> DeviceLock::TakeCore(int core, const std::string& folder) {
  const std::string path = folder + "/cpu" + std::to_string(core);
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return Lock(fd, path, "core " + std::to_string(core), 0);
}

Result<DeviceLock> DeviceLock::Lock(int fd, const std::string& path, const std::string& what,
                                    double wait_seconds) {
  if (fd < 0) return Unavailable(path + ": cannot be opened");
  DeviceLock lock(fd);
  SystemClock clock;
  const double deadline = clock.MonotonicSeconds() + wait_seconds;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (clock.MonotonicSeconds() >= deadline) {
      return Unavailable(what + " is in use by another process, which holds " + path +
                         HolderText(fd));
    }
    clock.SleepSeconds(0.02);
  }
  return lock;
}

DeviceLock::DeviceLock(DeviceLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DeviceLock& DeviceLock::operator=(DeviceLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

DeviceLock::~DeviceLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace tilewright::measure
