#include "measure/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cctype>
#include <utility>

#include "src/base/clock.h"

namespace tilewright::measure {

Result<DeviceLock> DeviceLock::Take(const std::string& name, double wait_seconds) {
  std::string path = "/tmp/tilewright-device-";
  for (const char c : name) path += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  path += ".lock";
  // Whoever made the file: to lock it, reading suffices.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return Unavailable(path + ": cannot be opened");
  DeviceLock lock(fd);
  SystemClock clock;
  const double deadline = clock.MonotonicSeconds() + wait_seconds;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (clock.MonotonicSeconds() >= deadline) {
      return Unavailable("device " + name + " is in use by another process, which holds " + path);
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
