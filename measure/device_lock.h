#pragma once

#include <string>

#include "src/base/status.h"

namespace tilewright::measure {

/// Keeps a device for one process of this machine: two that measure on it at once would disturb
/// each other. Given back when the object or its process ends. Move-only.
class DeviceLock {
 public:
  DeviceLock() = default;
  /// name: of the device, folder: of the lock files (they stay), both the same in every process;
  /// waits up to `wait_seconds` for another owner to go.
  /// Errors: kUnavailable with the file that is locked.
  static Result<DeviceLock> Take(const std::string& folder, const std::string& name,
                                 double wait_seconds);
  DeviceLock(DeviceLock&& other) noexcept;
  DeviceLock& operator=(DeviceLock&& other) noexcept;
  ~DeviceLock();

 private:
  explicit DeviceLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace tilewright::measure
