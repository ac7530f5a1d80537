#include "src/base/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "src/base/files/descriptor.h"
#include "src/base/files/special_file.h"
#include "src/base/files/temp_name.h"

namespace tilewright {
namespace {

/// name: file name in the error message. flags: for open().
Status WriteAll(const std::string& path, int flags, const std::string& name,
                std::string_view contents) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666));
  if (file.get() < 0) return Unavailable(name + ": cannot be written: " + ErrnoReason());
  while (!contents.empty()) {
    const ssize_t count = ::write(file.get(), contents.data(), contents.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Unavailable(name + ": cannot be written: " + ErrnoReason());
    contents.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

std::string ErrnoReason() { return std::strerror(errno); }

Result<std::string> ReadFile(const std::string& path, std::int64_t max_bytes) {
  TW_ASSIGN_OR_RETURN(const int opened, OpenForReading(path));
  const Descriptor file(opened);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return InvalidArgument(path + ": " + ErrnoReason());
  std::string contents;
  if (info.st_size > max_bytes) {  // reported before anything is read
    return InvalidArgument(path + ": larger than the limit of " + std::to_string(max_bytes) +
                           " bytes");
  }
  if (info.st_size > 0) {
    contents.reserve(static_cast<std::size_t>(info.st_size));
  }
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return InvalidArgument(path + ": cannot be read: " + ErrnoReason());
    if (count == 0) return contents;
    contents.append(buffer, static_cast<std::size_t>(count));
    if (static_cast<std::int64_t>(contents.size()) > max_bytes) {
      return InvalidArgument(path + ": larger than the limit of " + std::to_string(max_bytes) +
                             " bytes");
    }
  }
}

Status WriteFile(const std::string& path, std::string_view contents) {
  const auto file = FileToReplace(path);
  if (!file) return WriteAll(path, O_TRUNC, path, contents);  // fails for a directory
  ScopedTempPath partial = ScopedTempPath::NextTo(*file);
  TW_RETURN_IF_ERROR(WriteAll(partial.path(), O_EXCL | O_NOFOLLOW, path, contents));
  return partial.MoveTo(*file);
}

bool FileExists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<ScopedTempDir> ScopedTempDir::Create(std::string_view prefix) {
  for (const char* root : {"/dev/shm", "/tmp"}) {
    std::string path = std::string(root) + "/" + std::string(prefix) + ".XXXXXX";
    if (::mkdtemp(path.data()) != nullptr) return ScopedTempDir(path);
  }
  return Unavailable("cannot create a temporary directory in /dev/shm or /tmp: " + ErrnoReason());
}

Result<AtomicDirectory> AtomicDirectory::Create(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  AtomicDirectory folder(std::move(path));
  if (std::filesystem::is_directory(folder.path_)) return folder;
  if (FileExists(folder.path_)) {
    return Unavailable(folder.path_ +
                       ": cannot be created: is a file, expected a directory or nothing");
  }
  folder.waiting_ = ScopedTempPath::NextTo(folder.path_);
  if (!CreateNewFolder(folder.waiting_.path()).ok()) {
    return Unavailable(folder.path_ + ": cannot be created: " + ErrnoReason());
  }
  return folder;
}

Status AtomicDirectory::Finish() {
  return waiting_.path().empty() ? Status() : waiting_.MoveTo(path_);
}

}  // namespace tilewright
