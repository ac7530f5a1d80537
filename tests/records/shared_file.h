#pragma once

#include "tests/support/data_file.h"

namespace tilewright {

inline std::string SharedFile(const std::string& file) { return DataFile(file); }

/// The public packages, in byte order.
inline constexpr const char* kTophubFiles[] = {
    "adreno_v0.02.log",         "amd_apu_v0.01.log", "arm_cpu_v0.08.log", "cuda_v0.10.log",
    "intel_graphics_v0.02.log", "llvm_v0.04.log",    "mali_v0.06.log",    "opencl_v0.04.log",
    "rocm_v0.05.log",           "vta_v0.10.log"};

}  // namespace tilewright

/// Skips the test with a message that names the file if the file does not exist.
#define TW_NEEDS_SHARED(path) \
  if (!::tilewright::FileExists(path)) GTEST_SKIP() << "needs " << (path)
