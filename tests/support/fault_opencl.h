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
  explicit OpenClFaults(const std::string& faults) {
    ::setenv("OCL_ICD_REAL", RealLibrary().c_str(), 1);
    ::setenv("OCL_ICD_FAULTS", faults.c_str(), 1);
  }
  OpenClFaults(const OpenClFaults&) = delete;
  OpenClFaults& operator=(const OpenClFaults&) = delete;
  ~OpenClFaults() { ::unsetenv("OCL_ICD_FAULTS"); }

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

}  // namespace tilewright
