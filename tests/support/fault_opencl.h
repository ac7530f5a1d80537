#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "src/runtime/opencl/api.h"

namespace tilewright {

/// Faults of the stand-in for libOpenCL (tests/runtime/fault_opencl), while it exists.
class OpenClFaults {
 public:
  /// faults: words as the stand-in documents them, such as "build@1".
  /// folder: for the numbers of sources; empty: each is the first one.
  explicit OpenClFaults(const std::string& faults, const std::string& folder = "") {
    if (!folder.empty()) ::setenv("OCL_ICD_FOLDER", folder.c_str(), 1);
    ::setenv("OCL_ICD_REAL", RealLibrary().c_str(), 1);
    ::setenv("OCL_ICD_FAULTS", faults.c_str(), 1);
  }
  OpenClFaults(const OpenClFaults&) = delete;
  OpenClFaults& operator=(const OpenClFaults&) = delete;
  ~OpenClFaults() {
    ::unsetenv("OCL_ICD_FAULTS");
    ::unsetenv("OCL_ICD_FOLDER");
  }

 private:
  /// Returns the file of this machine's library; empty if there is none.
  static std::string RealLibrary() {
    Dl_info found = {};
    const auto api = OpenClApi::Open();
    if (!api.ok()) return "";
    (void)::dladdr(reinterpret_cast<const void*>(api->GetPlatformIDs), &found);
    return found.dli_fname != nullptr ? found.dli_fname : "";
  }
};

/// Returns the number of objects of OpenCL that were made and not released through the stand-in,
/// which is loaded; -1 if it is not.
inline int LiveOpenClObjects(const char* stand_in) {
  void* library = ::dlopen(stand_in, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return -1;
  const auto count = reinterpret_cast<int (*)()>(::dlsym(library, "FaultOpenClObjects"));
  const int objects = count != nullptr ? count() : -1;
  ::dlclose(library);
  return objects;
}

}  // namespace tilewright
