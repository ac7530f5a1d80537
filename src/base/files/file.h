#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/files/scoped_temp_path.h"
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
/// To a device or a pipe it is written as it is.
/// Errors: kUnavailable with the system's reason (disk full, read-only, no such folder).
Status WriteFile(const std::string& path, std::string_view contents);

bool FileExists(const std::string& path);

/// A new empty folder that is removed with its contents when the object goes, or by a signal (see
/// Unfinished).
class ScopedTempDir {
 public:
  /// Under /dev/shm where it exists (files there never reach a disk), else under /tmp.
  static Result<ScopedTempDir> Create(std::string_view prefix);
  const std::string& path() const { return folder_.path(); }

 private:
  explicit ScopedTempDir(std::string path) : folder_(std::move(path)) {}
  ScopedTempPath folder_;
};

/// A folder to write several files into, which is there as a whole or not at all: if there is none
/// at `path`, its contents wait beside it. Move-only.
class AtomicDirectory {
 public:
  /// Errors: kUnavailable with the system's reason.
  static Result<AtomicDirectory> Create(std::string path);
  /// Where to write.
  const std::string& staging_path() const {
    return waiting_.path().empty() ? path_ : waiting_.path();
  }
  /// Call it when all is written.
  /// Errors: those of Unfinished::MoveTo.
  Status Finish();

 private:
  explicit AtomicDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
  ScopedTempPath waiting_;  ///< without a path: the folder was there before
};

}  // namespace tilewright
