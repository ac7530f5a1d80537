#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"

namespace tilewright {

/// Clock, throttling and energy of one GPU, by NVIDIA's management library, which is part of the
/// driver but may be missing (containers). Found at run time.
class GpuMonitor {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";
  /// bus_id: CudaDevice::bus_id. Errors: kNotFound if there is no such library; kUnavailable if it
  /// lacks functions, does not work or does not know the device.
  static Result<GpuMonitor> Open(const std::string& library, const std::string& bus_id);

  struct State {
    double clock_mhz = 0;    ///< of the multiprocessors, now
    bool throttled = false;  ///< slowed down by heat or by the hardware's power limits
  };
  /// Errors: kUnavailable.
  Result<State> ReadState() const;
  /// What the whole device has taken since its driver was loaded, idle power included.
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
  int (*energy_)(void* device, unsigned long long* millijoules) = nullptr;  // null: it is older
};

}  // namespace tilewright
