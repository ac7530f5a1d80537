#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/files/scoped_temp_path.h"
#include "src/base/status.h"

namespace tilewright {

/// Returns the text of errno.
std::string ErrnoReason();

/// Returns the contents of a file.
/// Errors: kNotFound if it does not exist; kInvalidArgument if it is a directory, unreadable or
/// larger than max_bytes.
Result<std::string> ReadFile(const std::string& path,
                             std::int64_t max_bytes = std::int64_t{1} << 31);

/// Replaces or creates a file atomically: readers see the old contents or the new ones, never a
/// part. A device or a pipe is written directly.
/// Errors: kUnavailable with the system's reason (disk full, read-only, no such directory).
Status WriteFile(const std::string& path, std::string_view contents);

bool FileExists(const std::string& path);

/// New empty directory, removed with its contents by the destructor or by a signal (see
/// RemoveTempPathsOnSignal).
class ScopedTempDir {
 public:
  /// Creates it under /dev/shm if that exists (its files never reach a disk), else under /tmp.
  static Result<ScopedTempDir> Create(std::string_view prefix);
  const std::string& path() const { return folder_.path(); }

 private:
  explicit ScopedTempDir(std::string path) : folder_(std::move(path)) {}
  ScopedTempPath folder_;
};

/// Directory that appears at its path complete or not at all: if `path` does not exist, the
/// contents are staged in a directory next to it. Move-only.
class AtomicDirectory {
 public:
  /// Creates the directory for the contents.
  /// Errors: kUnavailable with the system's reason.
  static Result<AtomicDirectory> Create(std::string path);
  /// Returns the directory to write to.
  const std::string& staging_path() const {
    return waiting_.path().empty() ? path_ : waiting_.path();
  }
  /// Moves the contents to the path. Call it when all is written.
  /// Errors: those of ScopedTempPath::MoveTo.
  Status Finish();

 private:
  explicit AtomicDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
  ScopedTempPath waiting_;  ///< empty path: the directory existed before
};

}  // namespace tilewright
