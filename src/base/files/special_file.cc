#include "src/base/files/special_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/files/file.h"

namespace tilewright {
namespace {

// f_type of anonymous pipes (linux/magic.h).
constexpr long kPipesWithoutName = 0x50495045;

std::string KindOf(mode_t mode) {
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";  // most of them are endless
  if (S_ISSOCK(mode)) return "a socket";
  return {};
}

/// Errors: as OpenForReading.
Status CheckOpened(int file, const std::string& path) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return InvalidArgument(path + ": " + ErrnoReason());
  if (S_ISDIR(info.st_mode)) return InvalidArgument(path + ": is a directory, expected a file");
  const std::string kind = KindOf(info.st_mode);
  if (kind.empty()) return {};
  struct statfs system {};
  const bool handed_over =
      S_ISFIFO(info.st_mode) && ::fstatfs(file, &system) == 0 && system.f_type == kPipesWithoutName;
  if (!handed_over) return InvalidArgument(path + ": is " + kind + ", expected a file");
  const int flags = ::fcntl(file, F_GETFL);
  if (flags < 0 || ::fcntl(file, F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return InvalidArgument(path + ": cannot be read: " + ErrnoReason());
  }
  return {};
}

}  // namespace

std::string SpecialFileKind(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? KindOf(info.st_mode) : std::string();
}

Status CheckNotSpecialFile(const std::string& path) {
  const std::string kind = SpecialFileKind(path);
  return kind.empty() ? Status() : InvalidArgument(path + ": is " + kind + ", expected a file");
}

Result<int> OpenForReading(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    if (errno == ENOENT) return NotFound(path + ": no such file");
    const std::string reason = ErrnoReason();
    TW_RETURN_IF_ERROR(CheckNotSpecialFile(path));  // a socket
    return InvalidArgument(path + ": cannot be read: " + reason);
  }
  if (Status checked = CheckOpened(file, path); !checked.ok()) {
    ::close(file);
    return checked;
  }
  return file;
}

}  // namespace tilewright
