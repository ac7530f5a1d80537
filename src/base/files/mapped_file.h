#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// Read-only mapping of a file. The bytes stay valid if the file is removed or replaced. Only for
/// files that are never modified in place: truncating one removes the mapped bytes.
class MappedFile {
 public:
  /// Maps a file.
  /// Errors: kNotFound; kInvalidArgument if it is not a regular file; kUnavailable.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::string_view bytes() const { return {static_cast<const char*>(bytes_), size_}; }

 private:
  MappedFile(void* bytes, std::size_t size) : bytes_(bytes), size_(size) {}
  void* bytes_;  ///< null: an empty file
  std::size_t size_;
};

}  // namespace tilewright
