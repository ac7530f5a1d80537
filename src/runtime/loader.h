#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/runtime/abi.h"

namespace tilewright {

/// Shared library, open for the lifetime of the object.
class SharedLibrary {
 public:
  /// Opens a library.
  /// Errors: kNotFound if the file is missing; kInvalidArgument if it is truncated, or, with the
  /// loader's text, is not a shared library of this machine, or needs undefined symbols.
  static Result<SharedLibrary> Open(const std::string& path);
  /// Checks without loading it whether a file may be a library: reports the errors of Open except
  /// those of the loader.
  static Status Check(const std::string& path);
  /// Returns the address of an exported symbol; null if it is missing.
  void* Symbol(const std::string& name) const;
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  SharedLibrary(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}
  std::string path_;
  std::unique_ptr<void, Close> handle_;
};

/// Kernel of an open library; valid as long as the library.
struct KernelEntry {
  TwKernel run = nullptr;
  TwPrepare prepare = nullptr;  ///< null unless it calls a library
  TwKernelInfo info = {};

  /// Returns the workspace bytes of a run with this many threads.
  std::int64_t WorkspaceBytes(int threads) const {
    return info.workspace_bytes + threads * info.workspace_bytes_per_thread;
  }
};

/// Looks up a kernel.
/// Errors: kNotFound if the library has no such kernel; kUnsupported if it was compiled for another
/// version of the interface; kCorrupt if its description is invalid.
Result<KernelEntry> FindKernel(const SharedLibrary& library, const std::string& name);

/// Kernel and its library.
struct LoadedKernel {
  SharedLibrary library;
  KernelEntry entry;
};
/// Errors: those of SharedLibrary::Open and FindKernel.
Result<LoadedKernel> LoadKernel(const std::string& path, const std::string& name);

}  // namespace tilewright
