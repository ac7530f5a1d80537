#pragma once

#include <span>
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
  /// A core of a CPU, for measuring on it: `folder`/cpu3 is locked, the system's own folder of the
  /// core, so that no file is made. Does not wait.
  /// Errors: kUnavailable if another process has it, or there is no such folder.
  static Result<DeviceLock> TakeCore(int core, const std::string& folder = kCoreFolder);
  static constexpr const char* kCoreFolder = "/sys/devices/system/cpu";
  /// The same core, among the processes of this user alone: any user may lock the system's folder
  /// of a core, and keep it. Locks a file that no other user can open, in the first of `folders`
  /// where there is one or it can be made. Does not wait. Errors: kUnavailable if another process
  /// has it; kUnsupported if no folder can have the file.
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
