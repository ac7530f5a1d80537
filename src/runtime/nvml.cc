#include "src/runtime/nvml.h"

#include <dlfcn.h>

namespace tilewright {
namespace {

constexpr int kMultiprocessorClock = 1;
/// Hardware slow-down, software and hardware thermal slow-down, power brake. The effect of the
/// software power cap is visible in the clock.
constexpr unsigned long long kThrottled = 0x8 | 0x20 | 0x40 | 0x80;

}  // namespace

void GpuMonitor::Close::operator()(void* library) const { dlclose(library); }

Result<GpuMonitor> GpuMonitor::Open(const std::string& library, const std::string& bus_id) {
  GpuMonitor watch;
  watch.library_.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (watch.library_ == nullptr) return NotFound(library + " cannot be loaded");
  const auto bind = [&](const char* symbol, auto* function) {
    using Function = std::remove_pointer_t<decltype(function)>;
    *function = reinterpret_cast<Function>(dlsym(watch.library_.get(), symbol));
    return *function != nullptr;
  };
  int (*init)() = nullptr;
  int (*find)(const char*, void**) = nullptr;
  if (!bind("nvmlInit_v2", &init) || !bind("nvmlDeviceGetHandleByPciBusId_v2", &find) ||
      !bind("nvmlDeviceGetClockInfo", &watch.clock_) ||
      !bind("nvmlDeviceGetCurrentClocksThrottleReasons", &watch.reasons_)) {
    return Unavailable(library + " is too old: functions are missing");
  }
  (void)bind("nvmlDeviceGetTotalEnergyConsumption", &watch.energy_);
  if (const int code = init(); code != 0) {
    return Unavailable("nvmlInit: code " + std::to_string(code));
  }
  if (const int code = find(bus_id.c_str(), &watch.device_); code != 0) {
    return Unavailable("NVML does not find device " + bus_id + ": code " + std::to_string(code));
  }
  return watch;
}

Result<GpuMonitor::State> GpuMonitor::ReadState() const {
  unsigned mhz = 0;
  unsigned long long reasons = 0;
  if (const int code = clock_(device_, kMultiprocessorClock, &mhz); code != 0) {
    return Unavailable("nvmlDeviceGetClockInfo: code " + std::to_string(code));
  }
  if (const int code = reasons_(device_, &reasons); code != 0) {
    return Unavailable("nvmlDeviceGetCurrentClocksThrottleReasons: code " + std::to_string(code));
  }
  return State{static_cast<double>(mhz), (reasons & kThrottled) != 0};
}

Result<double> GpuMonitor::Joules() const {
  constexpr int kNotSupported = 3;
  unsigned long long millijoules = 0;
  const int code = energy_ == nullptr ? kNotSupported : energy_(device_, &millijoules);
  if (code == kNotSupported) {
    return Unsupported(
        "nvmlDeviceGetTotalEnergyConsumption: driver or device do not count it, "
        "expected a GPU of 2017 (Volta) or later");
  }
  if (code != 0) {
    return Unavailable("nvmlDeviceGetTotalEnergyConsumption: code " + std::to_string(code));
  }
  return static_cast<double>(millijoules) * 1e-3;
}

}  // namespace tilewright
