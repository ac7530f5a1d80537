#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/base/status.h"

namespace tilewright {

/// What the handler of a signal is told of an Unfinished.
struct WatchedPath {
  int process;  ///< that has made the object
  std::string path;
};

/// A file or a folder with what is in it that must not be left behind: removed when the object
/// goes, and by a signal that ends the program (see RemoveTempPathsOnSignal), unless it has got
/// its final name before. It need not exist. Not thread-safe; several objects are.
class ScopedTempPath {
 public:
  ScopedTempPath() = default;
  explicit ScopedTempPath(std::string path);
  /// `path` with an ending of this process: on the same disk, to be moved to `path`.
  static ScopedTempPath NextTo(const std::string& path);
  ScopedTempPath(ScopedTempPath&& other) noexcept { Swap(other); }
  ScopedTempPath& operator=(ScopedTempPath&& other) noexcept {
    ScopedTempPath taken(std::move(other));
    Swap(taken);
    return *this;
  }
  ~ScopedTempPath();

  const std::string& path() const { return path_; }
  /// Replaces the file `to`, or becomes the folder `to` unless that has something in it. Then it is
  /// finished and stays.
  /// Errors: kUnavailable with the system's reason, or if a device or a pipe is there.
  Status MoveTo(const std::string& to);

 private:
  void Swap(ScopedTempPath& other) noexcept;
  /// False if a handler removes it.
  bool Unwatch();

  std::string path_;  ///< empty: nothing to remove
  std::unique_ptr<const WatchedPath> watched_;
};

/// The file that takes the place of what a path leads to, through symbolic links; nothing where a
/// device, a pipe or a folder is, which nothing takes the place of.
std::optional<std::string> FileToReplace(const std::string& path);

/// From now on SIGHUP, SIGINT and SIGTERM, unless ignored, remove what is unfinished before they
/// end this process. Processes forked from it leave its files alone. May be called in a signal
/// handler.
void RemoveTempPathsOnSignal();

}  // namespace tilewright
