#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/files/scoped_temp_path.h"
#include "src/base/status.h"

namespace tilewright {

/// Where temporary files that are loaded as code can be: the first of /dev/shm (files there never
/// reach a disk), $TMPDIR, /tmp, /var/tmp and the user's cache folder that can be written to, is
/// not mounted noexec and has 256 MB to spare; else the one of them with the most room.
/// Errors: kUnavailable with what is wrong with each.
Result<std::string> TemporaryRoot();

/// A new empty folder that is removed with its contents when the object goes, or by a signal (see
/// Unfinished). Its owner holds a lock on it, which goes with the process: whose folder it is shows
/// in other containers that see it too, where process ids mean nothing, and what a process that was
/// killed has left is removed by the next one. Move-only.
class LockedTempDir {
 public:
  static constexpr const char* kMeasurerPrefix =
      "tilewright-measure";  ///< prefix of those of measurers

  /// In TemporaryRoot(), named `prefix`.tmpXXXXXX; prefix: begins with "tilewright-". The first one
  /// of a process also removes what killed processes of this user have left.
  /// Errors: kUnavailable if no folder can be made.
  static Result<LockedTempDir> Create(std::string_view prefix);
  /// Removes the folders in `root` that have no owner any more.
  static void RemoveAbandoned(const std::string& root);

  LockedTempDir(LockedTempDir&& other) noexcept;
  LockedTempDir& operator=(LockedTempDir&&) = delete;
  ~LockedTempDir();
  const std::string& path() const { return folder_.path(); }

 private:
  LockedTempDir(ScopedTempPath folder, int lock) : lock_(lock), folder_(std::move(folder)) {}

  int lock_;  ///< descriptor of the folder
  ScopedTempPath folder_;
};

}  // namespace tilewright
