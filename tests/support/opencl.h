#pragma once

#include <string>

#include "src/runtime/opencl/device.h"

namespace tilewright {

/// Returns why tests cannot run kernels on an OpenCL device of this machine; empty: they can.
inline std::string WhyNoOpenCl() {
#if defined(__SANITIZE_THREAD__)
  return "a driver's threads are not instrumented";
#else
  const auto devices = OpenClDevices();
  return devices.ok() ? std::string() : devices.status().message();
#endif
}

}  // namespace tilewright
