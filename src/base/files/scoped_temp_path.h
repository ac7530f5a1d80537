#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/base/status.h"

namespace tilewright {

/// Path to remove, as the signal handler reads it.
struct WatchedPath {
  int process;  ///< process that created the object
  std::string path;
};

/// Temporary file, or directory with its contents, that is removed by the destructor, and by a
/// signal that ends the program (see RemoveTempPathsOnSignal), unless it was moved to its final
/// name. It need not exist. Objects are not thread-safe; different objects may be used
/// concurrently.
class ScopedTempPath {
 public:
  ScopedTempPath() = default;
  explicit ScopedTempPath(std::string path);
  /// Returns `path` with a suffix of this process: on the same disk, to be moved to `path`.
  static ScopedTempPath NextTo(const std::string& path);
  ScopedTempPath(ScopedTempPath&& other) noexcept { Swap(other); }
  ScopedTempPath& operator=(ScopedTempPath&& other) noexcept {
    ScopedTempPath taken(std::move(other));
    Swap(taken);
    return *this;
  }
  ~ScopedTempPath();

  const std::string& path() const { return path_; }
  /// Replaces the file `to`, or becomes the directory `to` unless that is not empty. After success
  /// the object removes nothing.
  /// Errors: kUnavailable with the system's reason, or if `to` is a device or a pipe.
  Status MoveTo(const std::string& to);

 private:
  void Swap(ScopedTempPath& other) noexcept;
  /// Returns false if a handler is removing it.
  bool Unwatch();

  std::string path_;  ///< empty: nothing to remove
  std::unique_ptr<const WatchedPath> watched_;
};

/// Returns the file to replace for a path, after following symbolic links; no value for a device, a
/// pipe or a directory, which cannot be replaced.
std::optional<std::string> FileToReplace(const std::string& path);

/// Installs handlers of SIGHUP, SIGINT and SIGTERM, unless ignored, that remove temporary paths
/// before they end this process. Processes forked from it do not remove its files. May be called in
/// a signal handler.
void RemoveTempPathsOnSignal();

}  // namespace tilewright
