#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"

namespace tilewright {

/// Clock, throttling and energy of one GPU, read from NVIDIA's management library. The library is
/// part of the driver but may be missing (containers). Loaded at run time.
class GpuMonitor {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";
  /// Opens the monitor of a device. bus_id: CudaDevice::bus_id.
  /// Errors: kNotFound if the library is missing; kUnavailable if it lacks functions, does not work
  /// or does not have the device.
  static Result<GpuMonitor> Open(const std::string& library, const std::string& bus_id);

  struct State {
    double clock_mhz = 0;    ///< current clock of the multiprocessors
    bool throttled = false;  ///< slowed down by heat or by the hardware's power limits
  };
  /// Errors: kUnavailable.
  Result<State> ReadState() const;
  /// Returns the energy of the whole device since its driver was loaded, including idle power.
  /// Errors: kUnsupported if driver or device do not count it; kUnavailable.
  Result<double> Joules() const;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  std::unique_ptr<void, Close> library_;
  void* device_ = nullptr;
  int (*clock_)(void* device, int domain, unsigned* mhz) = nullptr;
  int (*reasons_)(void* device, unsigned long long* reasons) = nullptr;
  // Null in older libraries.
  int (*energy_)(void* device, unsigned long long* millijoules) = nullptr;
};

}  // namespace tilewright
