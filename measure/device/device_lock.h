#pragma once

#include <span>
#include <string>

#include "src/base/status.h"

namespace tilewright::measure {

/// Exclusive lock of a device among the processes of this machine: two that measure on it at the
/// same time would disturb each other. Released when the object is destroyed or its process ends.
/// Move-only.
class DeviceLock {
 public:
  DeviceLock() = default;
  /// Waits up to `wait_seconds` for another owner to release the device. name: of the device;
  /// folder: of the lock files (they stay); both must be the same in every process. Errors:
  /// kUnavailable with the locked file.
  static Result<DeviceLock> Take(const std::string& folder, const std::string& name,
                                 double wait_seconds);
  /// Locks a CPU core for measuring. Locks the system's own folder of the core, `folder`/cpu3, so
  /// that no file is created. Does not wait. Errors: kUnavailable if another process holds the
  /// lock, or there is no such folder.
  static Result<DeviceLock> TakeCore(int core, const std::string& folder = kCoreFolder);
  static constexpr const char* kCoreFolder = "/sys/devices/system/cpu";
  /// Locks the same core among the processes of this user alone, because any user may lock the
  /// system's folder of a core and keep it. Locks a file that no other user can open, in the first
  /// of `folders` that contains it or in which it can be created. Does not wait. Errors:
  /// kUnavailable if another process holds the lock; kUnsupported if no folder can contain the
  /// file.
  static Result<DeviceLock> TakeCoreOfUser(int core, std::span<const std::string> folders);
  DeviceLock(DeviceLock&& other) noexcept;
  DeviceLock& operator=(DeviceLock&& other) noexcept;
  ~DeviceLock();

 private:
  explicit DeviceLock(int fd) : fd_(fd) {}
  /// fd: of the file at `path`, owned by the lock; negative if it could not be opened.
  static Result<DeviceLock> Lock(int fd, const std::string& path, const std::string& what,
                                 double wait_seconds);
  int fd_ = -1;
};

}  // namespace tilewright::measure
