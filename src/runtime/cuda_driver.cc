#include "src/runtime/cuda_driver.h"

#include <array>
#include <memory>

namespace tilewright {
namespace {

// Constants of the driver interface; they never change.
enum Attribute : int {
  kMultiprocessors = 16,
  kL2CacheSize = 38,
};

/// Adds what CUDA's attributes of a device say.
Status DescribeAttributes(const CudaApi& api, int device, CudaDevice& described) {
  Status status;
  const auto attribute = [&](int which) {
    int value = 0;
    const Status asked =
        api.Check(api.device_attribute(&value, which, device), "cuDeviceGetAttribute");
    if (status.ok()) status = asked;
    return value;
  };
  described.compute_capability =
      10 * attribute(TW_CUDA_CAPABILITY_MAJOR) + attribute(TW_CUDA_CAPABILITY_MINOR);
  described.multiprocessors = attribute(kMultiprocessors);
  described.l2_bytes = attribute(kL2CacheSize);
  return status;
}

/// Adds what HIP's properties of a device say. Errors: kUnavailable also for properties of another
/// form than expected.
Status DescribeProperties(const CudaApi& api, int device, CudaDevice& described) {
  auto properties = std::make_unique<TwHipProperties>();
  TW_RETURN_IF_ERROR(
      api.Check(api.hip_properties(properties.get(), device), "hipGetDeviceProperties"));
  TwHipProcessor(properties.get());
  described.processor = properties->processor;
  if (!described.processor.starts_with("gfx")) {
    return Unavailable(
        "hipGetDeviceProperties: the device has no processor gfx..., expected HIP 6 or 7");
  }
  described.multiprocessors = properties->multiprocessors;
  described.l2_bytes = properties->l2_bytes;
  if (described.name.empty()) described.name = described.processor;
  return {};
}

}  // namespace

Result<CudaDevice> DescribeCudaDevice(const CudaApi& api, int ordinal) {
  int device = 0;
  TW_RETURN_IF_ERROR(api.Check(api.get_device(&device, ordinal), "cuDeviceGet"));
  std::array<char, 256> name{}, bus{};
  const int length = static_cast<int>(name.size()) - 1;
  TW_RETURN_IF_ERROR(api.Check(api.device_name(name.data(), length, device), "cuDeviceGetName"));
  TW_RETURN_IF_ERROR(
      api.Check(api.device_bus_id(bus.data(), length, device), "cuDeviceGetPCIBusId"));
  std::size_t memory = 0;
  TW_RETURN_IF_ERROR(api.Check(api.device_memory(&memory, device), "cuDeviceTotalMem"));
  CudaDevice described;
  described.name = name.data();
  described.bus_id = bus.data();
  described.memory_bytes = static_cast<std::int64_t>(memory);
  TW_RETURN_IF_ERROR(
      api.Check(api.driver_version(&described.driver_version), "cuDriverGetVersion"));
  const auto describe = api.is_hip != 0 ? &DescribeProperties : &DescribeAttributes;
  TW_RETURN_IF_ERROR((*describe)(api, device, described));
  return described;
}

DeviceFingerprint FingerprintOf(const CudaDevice& device) {
  DeviceFingerprint fingerprint;
  const bool is_amd = !device.processor.empty();
  fingerprint.kind = is_amd ? "rocm" : "cuda";
  fingerprint.model = device.name;
  fingerprint.isa = {is_amd ? device.processor : "sm_" + std::to_string(device.compute_capability)};
  fingerprint.l2_bytes = device.l2_bytes;
  fingerprint.cores = device.multiprocessors;
  fingerprint.extra = "driver " + DriverVersionOf(device);
  return fingerprint;
}

std::string DriverVersionOf(const CudaDevice& device) {
  const int version = device.driver_version;
  constexpr int kHipMajor = 10'000'000, kHipMinor = 100'000;
  if (device.processor.empty()) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }
  return std::to_string(version / kHipMajor) + "." +
         std::to_string(version % kHipMajor / kHipMinor);
}

Result<std::vector<CudaDevice>> CudaDevices(const std::string& library) {
  TW_ASSIGN_OR_RETURN(auto api, CudaApi::Open(library));
  int count = 0;
  TW_RETURN_IF_ERROR(api.Check(api.device_count(&count), "cuDeviceGetCount"));
  if (count == 0) {
    return NotFound(std::string("the ") + TwCudaMaker(library.c_str()) +
                    " driver reports no device");
  }
  std::vector<CudaDevice> devices;
  for (int i = 0; i < count; ++i) {
    TW_ASSIGN_OR_RETURN(auto device, DescribeCudaDevice(api, i));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace tilewright
