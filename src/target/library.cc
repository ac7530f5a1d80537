#include "src/target/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "src/base/strings.h"

namespace tilewright {
namespace {

constexpr std::array kLibraries = {
    KernelLibrary{"dnnl", "oneDNN", "libdnnl.so.2"},
};

/// The first members of dnnl_version_t.
struct DnnlVersion {
  int major, minor, patch;
};

}  // namespace

std::span<const KernelLibrary> KernelLibraries() { return kLibraries; }

const KernelLibrary* FindLibrary(std::string_view name) {
  const auto* found = std::ranges::find(kLibraries, name, &KernelLibrary::name);
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

bool NamesLibrary(const Target& target, std::string_view name) {
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

Result<std::string> LibraryVersion(const KernelLibrary& library) {
  void* handle = dlopen(std::string(library.file).c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    return NotFound(std::string(library.product) + " is not on this machine: " + dlerror());
  }
  using VersionFunction = const DnnlVersion* (*)();
  // POSIX: an object pointer from dlsym converts to a function pointer.
  const auto version = reinterpret_cast<VersionFunction>(dlsym(handle, "dnnl_version"));
  if (version == nullptr) {
    return Unsupported(std::string(library.file) + ": has no dnnl_version");
  }
  const DnnlVersion* v = version();
  if (v->major != 2) {
    return Unsupported(std::string(library.product) + " " + std::to_string(v->major) +
                       ", expected 2");
  }
  return std::string(library.product) + " " + std::to_string(v->major) + "." +
         std::to_string(v->minor) + "." + std::to_string(v->patch);
}

std::string RefusesLibrary(const KernelLibrary& library, const Target& target) {
  if (!NamesLibrary(target, library.name)) {
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
