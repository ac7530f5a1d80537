#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::measure {

/// Line reader: collects bytes from a descriptor and returns whole lines.
class LineReader {
 public:
  enum class State : std::uint8_t { kOpen, kClosed };
  /// Reads the available bytes: until the descriptor would block, or once if it is blocking.
  /// Errors: kCorrupt if a line exceeds kMaxLine; kUnavailable if reading fails.
  Result<State> Fill(int fd, bool blocking);
  /// Returns the next whole line without its end; nullopt if no whole line is available.
  std::optional<std::string> Next();
  /// Returns the bytes after the last whole line.
  const std::string& rest() const { return buffer_; }
  void Clear() { buffer_.clear(); }
  static constexpr std::size_t kMaxLine = std::size_t{16} << 20;

 private:
  std::string buffer_;
};

/// Writes all of `text`; waits at most `seconds` for the reader to make room. The caller must
/// ignore or block SIGPIPE. Errors: kUnavailable if the reader has closed the pipe or does not
/// read.
Status WriteAll(int fd, std::string_view text, double seconds);

/// Last `limit` bytes of a descriptor, read without blocking: a worker's standard error.
class TailReader {
 public:
  void Fill(int fd);
  /// Returns the last line that is not empty, shortened; empty if there are only empty lines.
  std::string LastLine() const;
  void Clear() { tail_.clear(); }

 private:
  static constexpr std::size_t kLimit = 4096;
  std::string tail_;
};

}  // namespace tilewright::measure
