#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/files/scoped_temp_path.h"
#include "src/base/status.h"

namespace tilewright {

/// Returns a directory for temporary files that are loaded as code: the first of /dev/shm (its
/// files never reach a disk), $TMPDIR, /tmp, /var/tmp and the user's cache directory that is
/// writable, is not mounted noexec and has 256 MB free; if none has, the one with the most free
/// space.
/// Errors: kUnavailable with the defect of each.
Result<std::string> TemporaryRoot();

/// New empty directory, removed with its contents by the destructor or by a signal (see
/// RemoveTempPathsOnSignal). Its owner holds a lock on it that ends with the process. So other
/// containers that share the file system, where process ids are meaningless, can see that it is in
/// use, and the next process removes the directories of killed ones. Move-only.
class LockedTempDir {
 public:
  static constexpr const char* kMeasurerPrefix = "tilewright-measure";  ///< prefix for measurers

  /// Creates a directory `prefix`.tmpXXXXXX in TemporaryRoot(); prefix: begins with "tilewright-".
  /// The first call in a process also removes the directories of this user's killed processes.
  /// Errors: kUnavailable if no directory can be created.
  static Result<LockedTempDir> Create(std::string_view prefix);
  /// Removes the directories in `root` without an owner.
  static void RemoveAbandoned(const std::string& root);

  LockedTempDir(LockedTempDir&& other) noexcept;
  LockedTempDir& operator=(LockedTempDir&&) = delete;
  ~LockedTempDir();
  const std::string& path() const { return folder_.path(); }

 private:
  LockedTempDir(ScopedTempPath folder, int lock) : lock_(lock), folder_(std::move(folder)) {}

  int lock_;  ///< descriptor of the directory
  ScopedTempPath folder_;
};

}  // namespace tilewright
