#include "measure/device/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <utility>

#include "src/base/clock.h"

namespace tilewright::measure {

Result<DeviceLock> DeviceLock::Take(const std::string& folder, const std::string& name,
                                    double wait_seconds) {
  std::string path = folder + "/tilewright-device-";
  for (const char c : name) path += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  path += ".lock";
  // Whoever made the file: to lock it, reading suffices. With O_CREAT the kernel may refuse to open
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
      return Unavailable(what + " is in use by another process, which holds " + path);
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
