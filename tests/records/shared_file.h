#pragma once

#include <cstdlib>
#include <string>

namespace tilewright {

/// Path of a file of the shared data, such as "tophub/cuda_v0.10.log"; tests that need one are
/// skipped by name where it is absent.
inline std::string SharedFile(const std::string& file) {
  const char* folder = std::getenv("TILEWRIGHT_SHARED");
  return std::string(folder != nullptr ? folder : TILEWRIGHT_SOURCE_DIR "/../shared") + "/data/" +
         file;
}

/// The public packages, in byte order.
inline constexpr const char* kTophubFiles[] = {
    "adreno_v0.02.log",         "amd_apu_v0.01.log", "arm_cpu_v0.08.log", "cuda_v0.10.log",
    "intel_graphics_v0.02.log", "llvm_v0.04.log",    "mali_v0.06.log",    "opencl_v0.04.log",
    "rocm_v0.05.log",           "vta_v0.10.log"};

}  // namespace tilewright

/// Skips the test, naming the file, unless it is there.
#define TW_NEEDS_SHARED(path) \
  if (!::tilewright::FileExists(path)) GTEST_SKIP() << "needs " << (path)
