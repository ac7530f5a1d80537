// Contents of tensors in files in the model's directory. Files are opened only inside this
// directory, without symbolic links that lead outside. Offset and length are checked before the
// file is read.
#include "src/graph/onnx/external_data.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "src/base/files/file.h"

namespace tilewright {
namespace {

// Open file that the destructor closes.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct Place {
  std::string location;
  std::int64_t offset = 0;
  std::int64_t length = -1;  // limit: the shape determines the rest
};

Result<std::int64_t> ParseCount(const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) {
    return InvalidArgument("external " + key + " is '" + text.substr(0, 40) +
                           "', expected a number of bytes, at least 0");
  }
  return value;
}

Result<Place> ExternalPlaceOf(const onnx::TensorProto& proto) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : proto.external_data()) {
    if (!entries.emplace(entry.key(), entry.value()).second) {
      return InvalidArgument("external_data has '" + entry.key() + "' twice");
    }
  }
  Place place;
  place.location = entries["location"];
  for (const auto& [key, member] :
       {std::pair("offset", &Place::offset), std::pair("length", &Place::length)}) {
    const auto found = entries.find(key);
    if (found == entries.end()) continue;
    TW_ASSIGN_OR_RETURN(auto value, ParseCount(key, found->second));
    place.*member = value;
  }
  return place;
}

// Checks that `location` is the name of a file inside the model's directory, without access to the
// file system.
Status CheckLocation(const std::string& location) {
  const auto refuse = [&](const std::string& why) {
    return InvalidArgument("external file '" + location.substr(0, location.find('\0')) + "' " +
                           why + ", expected the name of a file in the model's directory");
  };
  if (location.empty()) return InvalidArgument("external_data names no file (location)");
  if (location.find('\0') != std::string::npos) return refuse("has a zero byte");
  if (location[0] == '/') return refuse("is an absolute name");
  for (std::string_view rest = location; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    if (rest.substr(0, end) == "..") return refuse("leads out of the model's directory");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Status();
}

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // opening a pipe must not block

// Opens each path component separately and rejects symbolic links. Used on kernels without openat2
// and in sandboxes that forbid it.
int OpenWithoutLinks(int folder, std::string_view location) {
  OpenFile at(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  while (true) {
    while (location.starts_with('/')) location.remove_prefix(1);
    const std::size_t end = std::min(location.find('/'), location.size());
    const std::string part(location.substr(0, end));
    const bool last = end == location.size();
    const int flags = kOpenFlags | O_NOFOLLOW | (last ? 0 : O_DIRECTORY);
    OpenFile next(::openat(at.get(), part.c_str(), flags));
    if (next.get() < 0 || last) return ::fcntl(next.get(), F_DUPFD_CLOEXEC, 0);
    at = std::move(next);
    location.remove_prefix(end + 1);
  }
}

// Follows symbolic links only inside the directory.
int OpenBeneath(int folder, const std::string& location) {
  struct open_how how = {};
  how.flags = static_cast<std::uint64_t>(kOpenFlags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long opened = ::syscall(SYS_openat2, folder, location.c_str(), &how, sizeof how);
  if (opened >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(opened);
  return OpenWithoutLinks(folder, location);
}

Result<OpenFile> OpenExternal(const std::string& folder, const std::string& location) {
  const OpenFile root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0) {
    return NotFound("the model's directory " + folder + " cannot be opened: " + ErrnoReason());
  }
  OpenFile file(OpenBeneath(root.get(), location));
  if (file.get() >= 0) return file;
  const std::string name = "external file '" + location + "'";
  if (errno == ENOENT) return NotFound(name + " is not in the model's directory " + folder);
  if (errno == EXDEV || errno == ELOOP) {
    return InvalidArgument(name + " is a symbolic link that leads out of the model's directory " +
                           folder + "; copy the file there");
  }
  return InvalidArgument(name + " cannot be opened: " + ErrnoReason());
}

// Copies bytes offset … offset + bytes of a file through a mapping of this range.
Status CopyMapped(int file, std::int64_t offset, std::int64_t bytes, std::byte* to) {
  if (bytes == 0) return Status();
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t begin = offset / page * page;
  const auto length = static_cast<std::size_t>(offset - begin + bytes);
  void* map = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, begin);
  if (map == MAP_FAILED) return Unavailable("cannot be mapped: " + ErrnoReason());
  ::madvise(map, length, MADV_SEQUENTIAL);
  std::memcpy(to, static_cast<const std::byte*>(map) + (offset - begin),
              static_cast<std::size_t>(bytes));
  ::munmap(map, length);
  return Status();
}

// External file of a tensor. The file contains `bytes` bytes from the offset on.
struct Located {
  OpenFile file;
  Place place;
};

Result<Located> Locate(const onnx::TensorProto& proto, std::int64_t bytes,
                       const std::string& folder) {
  if (folder.empty()) {
    return Unsupported(
        "its contents are in another file, and the model was read from memory; expected them in "
        "the model");
  }
  TW_ASSIGN_OR_RETURN(auto place, ExternalPlaceOf(proto));
  TW_RETURN_IF_ERROR(CheckLocation(place.location));
  TW_ASSIGN_OR_RETURN(auto file, OpenExternal(folder, place.location));
  const std::string name = "external file '" + place.location + "'";
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return InvalidArgument(name + " is not a regular file");
  }
  if (place.length >= 0 && place.length != bytes) {
    return InvalidArgument("external length is " + std::to_string(place.length) +
                           " bytes, its shape needs " + std::to_string(bytes));
  }
  if (place.offset > status.st_size || bytes > status.st_size - place.offset) {
    return InvalidArgument(name + " has " + std::to_string(status.st_size) + " bytes, expected " +
                           std::to_string(bytes) + " from offset " + std::to_string(place.offset) +
                           "; the file may be truncated or belong to another model");
  }
  return Located{std::move(file), std::move(place)};
}

}  // namespace

Result<Tensor> ReadExternal(const onnx::TensorProto& proto, const TensorType& type,
                            const std::string& folder) {
  auto located = Locate(proto, type.bytes(), folder);
  if (!located.ok()) return located.status().WithContext("tensor " + proto.name());
  Tensor tensor(type);
  Status status =
      CopyMapped(located->file.get(), located->place.offset, type.bytes(), tensor.data());
  if (!status.ok()) return status.WithContext("tensor " + proto.name());
  return tensor;
}

Result<std::string> ReadExternalBytes(const onnx::TensorProto& proto, std::int64_t bytes,
                                      const std::string& folder) {
  auto located = Locate(proto, bytes, folder);
  if (!located.ok()) return located.status().WithContext("tensor " + proto.name());
  std::string contents(static_cast<std::size_t>(bytes), '\0');
  Status status = CopyMapped(located->file.get(), located->place.offset, bytes,
                             reinterpret_cast<std::byte*>(contents.data()));
  if (!status.ok()) return status.WithContext("tensor " + proto.name());
  return contents;
}

}  // namespace tilewright
