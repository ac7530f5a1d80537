#include "src/runtime/loader.h"

#include <dlfcn.h>

#include "src/base/file.h"

namespace tilewright {

void SharedLibrary::Close::operator()(void* handle) const { dlclose(handle); }

Result<SharedLibrary> SharedLibrary::Open(const std::string& path) {
  if (!FileExists(path)) return NotFound("no file " + path);
  // A name without a slash would be searched for in the system's folders.
  const std::string place = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return InvalidArgument("loading: " + std::string(reason != nullptr ? reason : path.c_str()));
  }
  return SharedLibrary(path, handle);
}

void* SharedLibrary::Symbol(const std::string& name) const {
  return dlsym(handle_.get(), name.c_str());
}

Result<KernelEntry> FindKernel(const SharedLibrary& library, const std::string& name) {
  // POSIX: an object pointer from dlsym converts to a function pointer.
  const auto run = reinterpret_cast<TwKernel>(library.Symbol(name));
  const auto prepare = reinterpret_cast<TwPrepare>(library.Symbol(name + "_prepare"));
  const auto* info = static_cast<const TwKernelInfo*>(library.Symbol(name + "_info"));
  if (run == nullptr || info == nullptr) {
    return NotFound(library.path() + ": no kernel " + name);
  }
  const std::string where = library.path() + ": kernel " + name + ": ";
  if (info->abi_version != TW_ABI_VERSION) {
    return Unsupported(where + "interface version " + std::to_string(info->abi_version) +
                       ", expected " + std::to_string(TW_ABI_VERSION));
  }
  if (info->workspace_bytes < 0 || info->workspace_bytes_per_thread < 0) {
    return Corrupt(where + "negative workspace size");
  }
  return KernelEntry{run, prepare, *info};
}

Result<LoadedKernel> LoadKernel(const std::string& path, const std::string& name) {
  Result<SharedLibrary> library = SharedLibrary::Open(path);
  TW_RETURN_IF_ERROR(library);
  const Result<KernelEntry> entry = FindKernel(*library, name);
  TW_RETURN_IF_ERROR(entry);
  return LoadedKernel{std::move(*library), *entry};
}

}  // namespace tilewright
