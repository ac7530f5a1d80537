#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::records {

/// Reader of a text file by lines, in memory that does not grow with the file.
class LineReader {
 public:
  /// Opens a file. Lines longer than `longest` bytes are truncated to `longest` + 1.
  /// Errors: kNotFound if the file is missing; kInvalidArgument if it is a directory or unreadable.
  static Result<LineReader> Open(const std::string& path, std::size_t longest);
  LineReader(LineReader&& other) noexcept;
  LineReader& operator=(LineReader&&) = delete;
  ~LineReader();

  /// Sets `line` to the next line without its line end; returns false at the end of the file. The
  /// view is valid until the next call.
  /// Errors: kInvalidArgument if reading fails, or no line ends within 256 MiB.
  Result<bool> Next(std::string_view& line);

 private:
  LineReader(int file, std::string path, std::size_t longest);
  /// Reads more bytes after the unread part of the buffer. Returns false at the end of the file.
  Result<bool> Fill();

  int file_;
  std::string path_;
  std::size_t longest_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread part of the buffer
  bool at_end_ = false;
};

}  // namespace tilewright::records
