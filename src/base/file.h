#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// What errno says.
std::string ErrnoReason();

/// Whole contents of a file.
/// Errors: kNotFound if it does not exist; kInvalidArgument if it is a folder, unreadable or larger
/// than max_bytes.
Result<std::string> ReadFile(const std::string& path,
                             std::int64_t max_bytes = std::int64_t{1} << 31);

/// Replaces or creates a file as a whole: readers see the old contents or the new, never a part.
/// Errors: kUnavailable with the system's reason (disk full, read-only, no such folder).
Status WriteFile(const std::string& path, std::string_view contents);

bool FileExists(const std::string& path);

/// A new empty folder that is removed with its contents when the object goes.
class TemporaryFolder {
 public:
  /// Under /dev/shm where it exists (files there never reach a disk), else under /tmp.
  static Result<TemporaryFolder> Create(std::string_view prefix);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tilewright
