#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/runtime/abi.h"

namespace tilewright {

/// A shared object that is open as long as this object lives.
class SharedLibrary {
 public:
  /// Errors: kNotFound if there is no such file; kInvalidArgument if it is cut off, or, with the
  /// loader's words, no shared object of this machine, or needs symbols nobody has.
  static Result<SharedLibrary> Open(const std::string& path);
  /// Whether a file may be one, without loading it: the errors of Open that do not come from the
  /// loader.
  static Status Check(const std::string& path);
  /// Address of an exported symbol, null if there is none.
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

/// One kernel of an open library; valid as long as that.
struct KernelEntry {
  TwKernel run = nullptr;
  TwPrepare prepare = nullptr;  ///< null unless it calls a library
  TwKernelInfo info = {};

  /// Bytes of workspace a run with this many threads needs.
  std::int64_t WorkspaceBytes(int threads) const {
    return info.workspace_bytes + threads * info.workspace_bytes_per_thread;
  }
};

/// Errors: kNotFound if the library has no such kernel; kUnsupported if it was made for another
/// version of the interface; kCorrupt if what it says of itself makes no sense.
Result<KernelEntry> FindKernel(const SharedLibrary& library, const std::string& name);

/// A kernel and the library it is in.
struct LoadedKernel {
  SharedLibrary library;
  KernelEntry entry;
};
/// Errors: those of SharedLibrary::Open and FindKernel.
Result<LoadedKernel> LoadKernel(const std::string& path, const std::string& name);

}  // namespace tilewright
