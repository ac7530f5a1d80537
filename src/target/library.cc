#include "src/target/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <type_traits>

#include "src/base/strings.h"

namespace tilewright {
namespace {

constexpr std::array kLibraries = {
    KernelLibrary{"cublas", "cuBLAS", "libcublas.so.12", 12, "cuda", "libcublas.so.13", 13},
    KernelLibrary{"cudnn", "cuDNN", "libcudnn.so.9", 9, "cuda", "", 0},
    KernelLibrary{"dnnl", "oneDNN", "libdnnl.so.2", 2, "llvm", "libdnnl.so.3.6", 3},
};

/// First members of dnnl_version_t.
struct LibraryNumber {
  int major, minor, patch;
};

/// Returns the version that the loaded library reports; major 0 if it reports none.
LibraryNumber NumberOf(void* handle, std::string_view name) {
  // POSIX: an object pointer from dlsym converts to a function pointer.
  const auto find = [&](const char* function, auto*& address) {
    address = reinterpret_cast<std::remove_reference_t<decltype(address)>>(dlsym(handle, function));
    return address != nullptr;
  };
  LibraryNumber number{};
  if (name == "dnnl") {
    const LibraryNumber* (*version)() = nullptr;
    if (find("dnnl_version", version)) number = *version();
  } else if (name == "cudnn") {
    std::size_t (*version)() = nullptr;  // 90203 for 9.2.3
    if (!find("cudnnGetVersion", version)) return number;
    const auto all = static_cast<int>(version());
    number = {all / 10000, all / 100 % 100, all % 100};
  } else {
    int (*property)(int, int*) = nullptr;
    if (!find("cublasGetProperty", property)) return number;
    (void)property(0, &number.major);
    (void)property(1, &number.minor);
    (void)property(2, &number.patch);
  }
  return number;
}

/// Errors: as LibraryVersion.
Result<std::string> VersionOfFile(const KernelLibrary& library, std::string_view file, int major) {
  void* handle = dlopen(std::string(file).c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    return NotFound(std::string(library.product) + " is not on this machine: " + dlerror());
  }
  const LibraryNumber number = NumberOf(handle, library.name);
  if (number.major != major) {
    return Unsupported(std::string(library.product) + " " + std::to_string(number.major) +
                       ", expected " + std::to_string(major));
  }
  return std::string(library.product) + " " + std::to_string(number.major) + "." +
         std::to_string(number.minor) + "." + std::to_string(number.patch);
}

struct FoundLibrary {
  std::string_view file;
  Result<std::string> version;
};

FoundLibrary Find(const KernelLibrary& library) {
  FoundLibrary found{library.file, VersionOfFile(library, library.file, library.major)};
  if (found.version.ok() || library.later_file.empty()) return found;
  auto later = VersionOfFile(library, library.later_file, library.later_major);
  if (later.ok()) return {library.later_file, std::move(later)};
  return found;
}

/// Like Find, but searches only once.
const FoundLibrary& FindOnce(const KernelLibrary& known) {
  struct Once {
    std::once_flag asked;
    std::optional<FoundLibrary> found;
  };
  static std::array<Once, kLibraries.size()> all;  // queries check it for every record
  Once& once = all[static_cast<std::size_t>(&known - kLibraries.data())];
  std::call_once(once.asked, [&] { once.found.emplace(Find(known)); });
  return *once.found;
}

}  // namespace

std::span<const KernelLibrary> KernelLibraries() { return kLibraries; }

const KernelLibrary* FindLibrary(std::string_view name) {
  const auto* found = std::ranges::find(kLibraries, name, &KernelLibrary::name);
  return found == kLibraries.end() ? nullptr : found;
}

const KernelLibrary* LibraryOfFile(std::string_view file, std::string_view target_kind) {
  const auto* found = std::ranges::find_if(kLibraries, [&](const KernelLibrary& library) {
    return !file.empty() && (library.file == file || library.later_file == file) &&
           library.target_kind == target_kind;
  });
  return found == kLibraries.end() ? nullptr : found;
}

const KernelLibrary* LibraryOfTemplate(std::string_view template_key) {
  const std::size_t dot = template_key.rfind('.');
  return dot == std::string_view::npos ? nullptr : FindLibrary(template_key.substr(dot + 1));
}

std::vector<std::string> LibrariesOf(const Target& target) {
  const std::string names = target.Option("libs");
  return names.empty() ? std::vector<std::string>() : Split(names, ',');
}

bool UsesLibrary(const Target& target, std::string_view name) {
  const std::vector<std::string> names = LibrariesOf(target);
  return std::ranges::find(names, name) != names.end();
}

Target WithoutLibraries(const Target& target) {
  if (target.Option("libs").empty()) return target;
  auto plain = Target::Parse(target.kind_name());
  TW_CHECK(plain.ok(), target.kind_name());
  for (const auto& [name, value] : target.options()) {
    if (name != "libs") plain->SetOption(name, value);
  }
  return *std::move(plain);
}

std::string_view FileOf(const KernelLibrary& library) {
  const KernelLibrary* known = FindLibrary(library.name);
  return known != nullptr ? FindOnce(*known).file : Find(library).file;
}

Result<std::string> LibraryVersion(const KernelLibrary& library) {
  const KernelLibrary* known = FindLibrary(library.name);
  return known != nullptr ? FindOnce(*known).version : Find(library).version;
}

std::string UnusableLibraryReason(const KernelLibrary& library, const Target& target) {
  if (!UsesLibrary(target, library.name)) {
    return "the target does not name its library (-libs=" + std::string(library.name) + ")";
  }
  const auto version = LibraryVersion(library);
  return version.ok() ? std::string() : version.status().message();
}

DeviceFingerprint WithLibrary(DeviceFingerprint device, const KernelLibrary& library) {
  const auto version = LibraryVersion(library);
  if (version.ok()) device.extra += (device.extra.empty() ? "" : ", ") + *version;
  return device;
}

}  // namespace tilewright
