#include "src/base/files/scratch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "src/base/files/file.h"

namespace tilewright {
namespace {

/// Returns false with errno set if not all bytes can be written.
bool WriteBytes(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Returns the descriptor of an unnamed file with these bytes, or -1.
int MakeFile(std::string_view bytes) {
  for (const char* folder : {static_cast<const char*>(std::getenv("TMPDIR")), "/tmp"}) {
    if (folder == nullptr || *folder == '\0') continue;
    const int file = ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) continue;
    if (WriteBytes(file, bytes)) return file;
    ::close(file);
  }
  return -1;
}

}  // namespace

ScratchBytes::ScratchBytes(std::string bytes)
    : size_(bytes.size()), file_(bytes.empty() ? -1 : MakeFile(bytes)) {
  if (file_ < 0) memory_ = std::move(bytes);
}

ScratchBytes::ScratchBytes(ScratchBytes&& other) noexcept { *this = std::move(other); }

ScratchBytes& ScratchBytes::operator=(ScratchBytes&& other) noexcept {
  std::swap(size_, other.size_);
  std::swap(file_, other.file_);
  std::swap(memory_, other.memory_);
  return *this;
}

ScratchBytes::~ScratchBytes() {
  if (file_ >= 0) ::close(file_);
}

Result<std::string> ScratchBytes::Read() const {
  if (file_ < 0) return memory_;
  std::string bytes(size_, '\0');
  for (std::size_t at = 0; at < size_;) {
    const ssize_t count = ::pread(file_, bytes.data() + at, size_ - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return Unavailable(std::string("scratch file: ") +
                         (count < 0 ? std::strerror(errno) : "shorter than the written data"));
    }
    at += static_cast<std::size_t>(count);
  }
  return bytes;
}

Result<ScratchFile> ScratchFile::Create(std::string_view name) {
  const char* chosen = std::getenv("TMPDIR");
  for (const char* folder : {chosen, "/var/tmp", "/tmp"}) {
    if (folder == nullptr || *folder == '\0') continue;
    std::string path = std::string(folder) + "/" + std::string(name) + ".XXXXXX";
    const int file = ::mkostemp(path.data(), O_CLOEXEC);
    if (file >= 0) return ScratchFile(file, std::move(path));
  }
  return Unavailable("cannot create a file in $TMPDIR, /var/tmp or /tmp: " + ErrnoReason());
}

ScratchFile::~ScratchFile() {
  if (file_ >= 0) ::close(file_);
}

Status ScratchFile::Write(std::string_view bytes) const {
  if (WriteBytes(file_, bytes)) return {};
  return Unavailable(path() + ": cannot be written: " + ErrnoReason());
}

}  // namespace tilewright
