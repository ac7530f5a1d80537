#include "src/base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <initializer_list>

namespace tilewright {
namespace {

/// Writes to standard error what can be written, and is content.
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
    // Standard output only to be read: what is printed there is still missed. All lower numbers
    // are taken, so this is the number that open() gives.
    const int mode = fd == STDERR_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) < 0) (void)::open("/", O_PATH);
  }
  // Whoever prints a message would have to handle its loss (the formatter throws). Nobody has to.
  constexpr cookie_io_functions_t kFunctions = {nullptr, &WriteIgnoringErrors, nullptr, nullptr};
  std::FILE* lossy = ::fopencookie(nullptr, "w", kFunctions);
  if (lossy == nullptr) return;
  std::setvbuf(lossy, nullptr, _IONBF, 0);
  stderr = lossy;
}

}  // namespace tilewright
