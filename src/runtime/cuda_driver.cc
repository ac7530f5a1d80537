#include "src/runtime/cuda_driver.h"

#include <dlfcn.h>

#include <array>
#include <memory>

namespace tilewright {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

// Numbers of the driver interface; they never change.
enum Attribute : int {
  kClockRate = 13,
  kMultiprocessors = 16,
  kL2CacheSize = 38,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
};

/// The driver's library and what is called of it.
class Driver {
 public:
  static Result<Driver> Open() {
    Driver driver;
    driver.library_.reset(dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL));
    if (driver.library_ == nullptr) {
      return NotFound(std::string("no NVIDIA driver: ") + kLibrary + " cannot be loaded");
    }
    const bool complete = driver.Bind("cuInit", &driver.init) &&
                          driver.Bind("cuGetErrorString", &driver.error_string) &&
                          driver.Bind("cuDeviceGetCount", &driver.count) &&
                          driver.Bind("cuDeviceGet", &driver.get) &&
                          driver.Bind("cuDeviceGetName", &driver.name) &&
                          driver.Bind("cuDeviceGetAttribute", &driver.attribute) &&
                          driver.Bind("cuDeviceTotalMem_v2", &driver.memory);
    if (!complete) {
      return Unavailable(std::string(kLibrary) + " is too old: functions are missing");
    }
    TW_RETURN_IF_ERROR(driver.Check(driver.init(0), "cuInit"));
    return driver;
  }

  Status Check(int code, const char* call) const {
    if (code == 0) return {};
    const char* words = nullptr;
    if (error_string(code, &words) != 0 || words == nullptr) words = "unknown error";
    return Unavailable(std::string(call) + ": " + words + " (" + std::to_string(code) + ")");
  }

  int (*init)(unsigned) = nullptr;
  int (*error_string)(int, const char**) = nullptr;
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;

 private:
  template <typename Function>
  bool Bind(const char* symbol, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library_.get(), symbol));
    return *function != nullptr;
  }
  struct Close {
    void operator()(void* library) const { dlclose(library); }
  };
  std::unique_ptr<void, Close> library_;
};

Result<CudaDevice> Describe(const Driver& driver, int ordinal) {
  int device = 0;
  TW_RETURN_IF_ERROR(driver.Check(driver.get(&device, ordinal), "cuDeviceGet"));
  std::array<char, 256> name{};
  TW_RETURN_IF_ERROR(driver.Check(
      driver.name(name.data(), static_cast<int>(name.size()) - 1, device), "cuDeviceGetName"));
  std::size_t memory = 0;
  TW_RETURN_IF_ERROR(driver.Check(driver.memory(&memory, device), "cuDeviceTotalMem"));
  Status status;
  const auto attribute = [&](Attribute which) {
    int value = 0;
    const Status asked =
        driver.Check(driver.attribute(&value, which, device), "cuDeviceGetAttribute");
    if (status.ok()) status = asked;
    return value;
  };
  CudaDevice described;
  described.name = name.data();
  described.compute_capability = 10 * attribute(kCapabilityMajor) + attribute(kCapabilityMinor);
  described.multiprocessors = attribute(kMultiprocessors);
  described.clock_khz = attribute(kClockRate);
  described.memory_bytes = static_cast<std::int64_t>(memory);
  described.l2_bytes = attribute(kL2CacheSize);
  TW_RETURN_IF_ERROR(status);
  return described;
}

}  // namespace

Result<std::vector<CudaDevice>> CudaDevices() {
  auto driver = Driver::Open();
  TW_RETURN_IF_ERROR(driver);
  int count = 0;
  TW_RETURN_IF_ERROR(driver->Check(driver->count(&count), "cuDeviceGetCount"));
  if (count == 0) return NotFound("the NVIDIA driver knows no device");
  std::vector<CudaDevice> devices;
  for (int i = 0; i < count; ++i) {
    auto device = Describe(*driver, i);
    TW_RETURN_IF_ERROR(device);
    devices.push_back(*std::move(device));
  }
  return devices;
}

}  // namespace tilewright
