#include "measure/sandbox/read_allowlist.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/target/library.h"

namespace tilewright::measure {
namespace {

constexpr std::int64_t kMaxSearchedBytes = std::int64_t{1} << 30;

/// Paths of the shared objects of this process.
std::vector<std::string> LoadedObjects() {
  std::vector<std::string> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const std::string_view name = info->dlpi_name;
        if (name.starts_with('/')) static_cast<std::vector<std::string>*>(out)->emplace_back(name);
        return 0;
      },
      &paths);
  return paths;
}

/// Files that any artifact may need, and the compiler's own libraries.
bool IsOfSystem(const std::string& path) {
  constexpr std::string_view kNames[] = {"ld-linux",    "ld-musl",  "libc.",
                                         "libm.",       "libmvec.", "libdl.",
                                         "libpthread.", "librt.",   "libgcc_s."};
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return std::ranges::any_of(kNames, [&](auto known) { return name.starts_with(known); });
}

/// In a process of its own, as the library stays loaded and starts threads. Writes one path a line,
/// and an empty line at the end. Writes nothing if the library cannot be loaded.
[[noreturn]] void TellObjectsOf(const std::string& library, int out) {
  const std::vector<std::string> before = LoadedObjects();
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) ::_exit(1);
  std::string text;
  for (const std::string& path : LoadedObjects()) {
    // The others are in memory.
    if (std::ranges::find(before, path) == before.end()) text += path + "\n";
  }
  text += "\n";
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t count = ::write(out, left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(1);
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  ::_exit(0);
}

/// Reads until the other end is closed; nullopt after an error.
std::optional<std::string> ReadToEnd(int fd) {
  std::string text;
  std::array<char, 4096> part;
  while (true) {
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

/// Text of TellObjectsOf; nullopt if there is no process, or it could not load the library.
std::optional<std::string> ObjectsOf(const std::string& library) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t pid = ::fork();
  if (pid == 0) TellObjectsOf(library, ends[1]);
  ::close(ends[1]);
  auto text = pid > 0 ? ReadToEnd(ends[0]) : std::nullopt;
  ::close(ends[0]);
  while (pid > 0 && ::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  const bool whole = text && (*text == "\n" || text->ends_with("\n\n"));
  return whole ? text : std::nullopt;
}

}  // namespace

ReadAllowlistBuilder::ReadAllowlistBuilder() {
  for (const std::string& path : LoadedObjects()) {
    if (IsOfSystem(path)) base_.files.push_back(path);
  }
  for (const char* file :
       {"/etc/ld.so.cache", "/etc/ld.so.preload", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
        "/proc/sys/vm/overcommit_memory", "/dev/null", "/dev/urandom"}) {
    base_.files.emplace_back(file);
  }
  // Not the whole of /proc/self, which has the environment, mounts and the network's connections.
  for (const char* file : {"statm", "stat", "status", "maps"}) {
    base_.files.push_back(std::string("/proc/self/") + file);
  }
  base_.folders = {"/sys/devices/system/cpu", "/sys/devices/system/node"};
}

std::vector<std::string> ReadAllowlistBuilder::FilesOf(const std::string& library) {
  const auto found = libraries_.find(library);
  if (found != libraries_.end()) return found->second;
  const auto text = ObjectsOf(library);
  if (!text) return {};
  std::vector<std::string> files = Split(*text, '\n');
  std::erase(files, "");
  return libraries_.emplace(library, std::move(files)).first->second;
}

ReadAllowlist ReadAllowlistBuilder::Of(const std::string& artifact, const Target& target) {
  ReadAllowlist list = base_;
  list.files.push_back(artifact);
  const auto contents = ReadFile(artifact, kMaxSearchedBytes);
  if (!contents.ok()) return list;  // loading it says why
  for (const KernelLibrary& library : KernelLibraries()) {
    if (target.kind_name() != library.target_kind) continue;
    for (const std::string_view file : {library.file, library.later_file}) {
      if (file.empty() || contents->find(file) == std::string::npos) continue;
      const std::vector<std::string> files = FilesOf(std::string(file));
      list.files.insert(list.files.end(), files.begin(), files.end());
    }
  }
  return list;
}

}  // namespace tilewright::measure
