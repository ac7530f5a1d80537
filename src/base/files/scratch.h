#pragma once

#include <cstddef>
#include <string>

#include "src/base/status.h"

namespace tilewright {

/// Bytes that wait in an unnamed file instead of in memory. Where no file can be had (no folder, no
/// space, no descriptor left) they stay in memory. Not thread-safe.
class ScratchBytes {
 public:
  ScratchBytes() = default;
  /// The file lies in $TMPDIR, else in /tmp, and goes with the object or the process.
  explicit ScratchBytes(std::string bytes);
  ScratchBytes(ScratchBytes&& other) noexcept;
  ScratchBytes& operator=(ScratchBytes&& other) noexcept;
  ~ScratchBytes();

  /// Errors: kUnavailable if the file can not be read any more.
  Result<std::string> Read() const;
  bool empty() const { return size_ == 0; }
  bool in_memory() const { return file_ < 0; }

 private:
  std::size_t size_ = 0;
  int file_ = -1;
  std::string memory_;  ///< the bytes where there is no file
};

}  // namespace tilewright
