#include "src/base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <initializer_list>

namespace tilewright {
namespace {

/// Writes to standard error as much as possible and ignores errors.
ssize_t WriteIgnoringErrors(void* /*cookie*/, const char* text, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = ::write(STDERR_FILENO, text + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

void FixupStandardStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // Standard output is opened read-only, so that printing to it still fails. All lower numbers
    // are in use, so open() returns this number.
    const int mode = fd == STDERR_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) < 0) (void)::open("/", O_PATH);
  }
  // The formatter throws if printing fails; this stream reports no failure, so callers need not
  // handle it.
  constexpr cookie_io_functions_t kFunctions = {nullptr, &WriteIgnoringErrors, nullptr, nullptr};
  std::FILE* lossy = ::fopencookie(nullptr, "w", kFunctions);
  if (lossy == nullptr) return;
  std::setvbuf(lossy, nullptr, _IONBF, 0);
  stderr = lossy;
}

}  // namespace tilewright
