#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// A file's bytes as they were, for reading, without a copy of them: they stay whatever becomes of
/// the file's name. For files that are replaced but never written to: one that is cut off takes the
/// bytes with it.
class MappedFile {
 public:
  /// Errors: kNotFound; kInvalidArgument if it is no regular file; kUnavailable.
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
