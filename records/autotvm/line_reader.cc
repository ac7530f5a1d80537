#include "records/autotvm/line_reader.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/files/special_file.h"

namespace tilewright::records {
namespace {

constexpr std::size_t kChunk = 1 << 18;
// 256 MiB: the limit of bytes without a line end.
constexpr std::size_t kMaxDropped = std::size_t{1} << 28;

}  // namespace

LineReader::LineReader(int file, std::string path, std::size_t longest)
    : file_(file), path_(std::move(path)), longest_(longest), buffer_(kChunk + longest + 2) {}

LineReader::LineReader(LineReader&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      longest_(other.longest_),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      end_(other.end_),
      at_end_(other.at_end_) {}

LineReader::~LineReader() {
  if (file_ >= 0) ::close(file_);
}

Result<LineReader> LineReader::Open(const std::string& path, std::size_t longest) {
  TW_ASSIGN_OR_RETURN(const auto file, OpenForReading(path));
  return LineReader(file, path, longest);
}

Result<bool> LineReader::Fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (true) {
    const ssize_t count = ::read(file_, buffer_.data() + end_, buffer_.size() - end_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return InvalidArgument(path_ + ": cannot be read: " + std::strerror(errno));
    at_end_ = count == 0;
    end_ += static_cast<std::size_t>(count);
    return count > 0;
  }
}

Result<bool> LineReader::Next(std::string_view& line) {
  std::size_t searched = begin_;
  bool cut = false;
  std::size_t dropped = 0;
  while (true) {
    const char* from = buffer_.data() + searched;
    const void* found = searched < end_ ? std::memchr(from, '\n', end_ - searched) : nullptr;
    if (found != nullptr || (at_end_ && begin_ < end_)) {
      const std::size_t stop =
          found != nullptr
              ? static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data())
              : end_;
      line = std::string_view(buffer_.data() + begin_, stop - begin_);
      begin_ = found != nullptr ? stop + 1 : end_;
      // Of a truncated line only the length matters.
      if (cut && line.size() <= longest_) {
        line = std::string_view(buffer_.data(), longest_ + 1);
      } else {
        line = line.substr(0, longest_ + 1);
      }
      return true;
    }
    if (at_end_) return false;
    // Drop the excess bytes, but keep the length above the limit.
    if (end_ - begin_ > longest_ + 1) {
      dropped += end_ - (begin_ + longest_ + 1);
      end_ = begin_ + longest_ + 1;
      cut = true;
      if (dropped > kMaxDropped) {
        return InvalidArgument(path_ + ": a line of more than " + std::to_string(kMaxDropped) +
                               " bytes: no text of lines");
      }
    }
    const std::size_t kept = end_ - begin_;
    TW_RETURN_IF_ERROR(Fill());
    searched = begin_ + kept;
  }
}

}  // namespace tilewright::records
