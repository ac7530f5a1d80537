#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/files/scoped_temp_path.h"
#include "src/base/status.h"

namespace tilewright {

/// Bytes stored in an unnamed file instead of in memory. If no file can be created (no directory,
/// no space, no descriptor), they stay in memory. Not thread-safe.
class ScratchBytes {
 public:
  ScratchBytes() = default;
  /// Creates the file in $TMPDIR, else in /tmp. It is removed with the object or the process.
  explicit ScratchBytes(std::string bytes);
  ScratchBytes(ScratchBytes&& other) noexcept;
  ScratchBytes& operator=(ScratchBytes&& other) noexcept;
  ~ScratchBytes();

  /// Errors: kUnavailable if reading the file fails.
  Result<std::string> Read() const;
  bool empty() const { return size_ == 0; }
  bool in_memory() const { return file_ < 0; }

 private:
  std::size_t size_ = 0;
  int file_ = -1;
  std::string memory_;  ///< the bytes, if there is no file
};

/// New named file for bytes that are too large for memory. Removed by the destructor, and by a
/// signal (see RemoveTempPathsOnSignal). Not thread-safe. Move-only.
class ScratchFile {
 public:
  /// Creates the file in the first usable directory of $TMPDIR, /var/tmp (on a disk, while /tmp may
  /// be in memory) and /tmp. name: prefix of its name.
  /// Errors: kUnavailable with the system's reason.
  static Result<ScratchFile> Create(std::string_view name);
  ScratchFile(ScratchFile&& other) noexcept
      : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}
  ScratchFile& operator=(ScratchFile&&) = delete;
  ~ScratchFile();

  const std::string& path() const { return path_.path(); }
  /// Appends bytes.
  /// Errors: kUnavailable with the system's reason.
  Status Write(std::string_view bytes) const;

 private:
  ScratchFile(int file, std::string path) : file_(file), path_(std::move(path)) {}
  int file_;
  ScopedTempPath path_;
};

}  // namespace tilewright
