#include "src/base/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/files/file.h"

namespace tilewright {
namespace {

Result<std::pair<void*, std::size_t>> MapWhole(int file, const std::string& path) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return Unavailable(path + ": " + ErrnoReason());
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path + ": is not a regular file");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return std::pair<void*, std::size_t>(nullptr, 0);
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) return Unavailable(path + ": cannot be mapped: " + ErrnoReason());
  return std::pair(bytes, size);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe would block.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFound(path + ": no such file");
    return Unavailable(path + ": cannot be read: " + ErrnoReason());
  }
  auto mapped = MapWhole(file, path);
  ::close(file);  // the mapping stays
  TW_RETURN_IF_ERROR(mapped);
  return std::shared_ptr<const MappedFile>(new MappedFile(mapped->first, mapped->second));
}

MappedFile::~MappedFile() {
  if (bytes_ != nullptr) ::munmap(bytes_, size_);
}

}  // namespace tilewright
