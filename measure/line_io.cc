#include "measure/line_io.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "src/base/clock.h"
#include "src/base/strings.h"

namespace tilewright::measure {

Result<LineReader::State> LineReader::Fill(int fd, bool blocking) {
  std::array<char, 1 << 16> chunk;
  while (true) {
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::kOpen;
    if (count < 0) return Unavailable(std::string("reading a pipe: ") + std::strerror(errno));
    if (count == 0) return State::kClosed;
    buffer_.append(chunk.data(), static_cast<std::size_t>(count));
    if (buffer_.size() > kMaxLine && buffer_.find('\n') == std::string::npos) {
      return Corrupt("message: a line of more than " + std::to_string(kMaxLine) + " bytes");
    }
    if (blocking) return State::kOpen;
  }
}

std::optional<std::string> LineReader::Next() {
  const std::size_t end = buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

Status WriteAll(int fd, std::string_view text, double seconds) {
  SystemClock clock;
  const double deadline = clock.MonotonicSeconds() + seconds;
  while (!text.empty()) {
    pollfd runner_times{fd, POLLOUT, 0};
    const double left = deadline - clock.MonotonicSeconds();
    if (left <= 0) return Unavailable("writing a pipe: the reader does not read");
    const int ready = ::poll(&runner_times, 1, static_cast<int>(left * 1e3) + 1);
    if (ready < 0 && errno != EINTR) {
      return Unavailable(std::string("writing a pipe: ") + std::strerror(errno));
    }
    if (ready <= 0) continue;
    // No more than PIPE_BUF at once: then a writable pipe takes it all without blocking.
    const ssize_t count = ::write(fd, text.data(), std::min<std::size_t>(text.size(), 4096));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return Unavailable(std::string("writing a pipe: ") + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

void TailReader::Fill(int fd) {
  std::array<char, 4096> chunk;
  while (true) {
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    tail_.append(chunk.data(), static_cast<std::size_t>(count));
    if (tail_.size() > kLimit) tail_.erase(0, tail_.size() - kLimit);
  }
}

std::string TailReader::LastLine() const {
  constexpr std::size_t kMaxShown = 200;
  const auto lines = Split(tail_, '\n');
  for (std::size_t i = lines.size(); i-- > 0;) {
    std::string line(Trim(lines[i]));
    if (line.empty()) continue;
    if (line.size() > kMaxShown) line.resize(kMaxShown);
    return line;
  }
  return {};
}

}  // namespace tilewright::measure
