#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::measure {

/// Collects bytes from a descriptor and hands out whole lines.
class LineReader {
 public:
  enum class State : std::uint8_t { kOpen, kClosed };
  /// Reads what is there (until it would block, or once where the descriptor blocks).
  /// Errors: kCorrupt if a line grows past kMaxLine; kUnavailable if reading fails.
  Result<State> Fill(int fd, bool blocking);
  /// The next whole line without its end; nullopt if there is none yet.
  std::optional<std::string> Next();
  /// What came after the last whole line.
  const std::string& rest() const { return buffer_; }
  void Clear() { buffer_.clear(); }
  static constexpr std::size_t kMaxLine = std::size_t{16} << 20;

 private:
  std::string buffer_;
};

/// Writes all of `text`, waiting at most `seconds` for the reader to make room. The caller must
/// have SIGPIPE ignored or blocked.
/// Errors: kUnavailable if the reader is gone or does not read.
Status WriteAll(int fd, std::string_view text, double seconds);

/// The last `limit` bytes a descriptor gave, read without blocking: a worker's standard error.
class TailReader {
 public:
  void Fill(int fd);
  /// The last line that is not empty, shortened; empty if there is none.
  std::string LastLine() const;
  void Clear() { tail_.clear(); }

 private:
  static constexpr std::size_t kLimit = 4096;
  std::string tail_;
};

}  // namespace tilewright::measure
