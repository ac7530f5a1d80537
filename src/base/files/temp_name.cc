#include "src/base/files/temp_name.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"

namespace tilewright {

std::string UniqueTempName(std::string_view path, std::string_view ending) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    // The kernel has no random numbers: the name may be predictable, but it still has to be new.
    SystemClock clock;
    const auto nanoseconds = static_cast<std::uint64_t>(1e9 * clock.MonotonicSeconds());
    number = Mix64(nanoseconds ^ static_cast<std::uint64_t>(::getpid()) << 40);
  }
  return std::string(path) + ".partial." + HexOf(number) + std::string(ending);
}

Status CreateNewFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return {};
  return Unavailable(path + ": cannot be created: " + ErrnoReason());
}

std::string UnsafePermissionReason(const std::string& path, bool sticky_is_fine) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return path + ": " + ErrnoReason();
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) return path + ": belongs to another user";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  if (sticky_is_fine && (info.st_mode & S_ISVTX) != 0) return {};
  return path + ": others may write it (chmod go-w takes that away)";
}

}  // namespace tilewright
