#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::records {

/// Reads a text file line by line in memory that does not grow with the file.
class LineReader {
 public:
  /// Lines longer than `longest` bytes come back cut to `longest` + 1.
  /// Errors: kNotFound if there is no such file; kInvalidArgument if it is a folder or unreadable.
  static Result<LineReader> Open(const std::string& path, std::size_t longest);
  LineReader(LineReader&& other) noexcept;
  LineReader& operator=(LineReader&&) = delete;
  ~LineReader();

  /// The next line without its end; false at the end of the file. The view is valid until the next
  /// call. Errors: kInvalidArgument if reading fails, or no line ends within 256 MiB.
  Result<bool> Next(std::string_view& line);

 private:
  LineReader(int file, std::string path, std::size_t longest);
  /// Reads more behind what is kept of the buffer. returns false at the end of the file.
  Result<bool> Fill();

  int file_;
  std::string path_;
  std::size_t longest_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what of the buffer is not yet given out
  bool at_end_ = false;
};

}  // namespace tilewright::records
