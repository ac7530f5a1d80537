#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// A GPU as the CUDA driver describes it.
struct CudaDevice {
  std::string name;
  int compute_capability = 0;  ///< 75 for 7.5
  int multiprocessors = 0;
  int clock_khz = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
};

/// The GPUs of this machine. The driver's library (libcuda.so.1) is loaded for the call: nothing of
/// CUDA is needed to build or to start the program.
/// Errors: kNotFound if there is no driver or no device; kUnavailable with the driver's words if it
/// does not work.
Result<std::vector<CudaDevice>> CudaDevices();

}  // namespace tilewright
