#include "src/runtime/cuda_driver.h"

#include <array>

namespace tilewright {
namespace {

// Constants of the driver interface; they never change.
enum Attribute : int {
  kMultiprocessors = 16,
  kL2CacheSize = 38,
};

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
  Status status;
  const auto attribute = [&](int which) {
    int value = 0;
    const Status asked =
        api.Check(api.device_attribute(&value, which, device), "cuDeviceGetAttribute");
    if (status.ok()) status = asked;
    return value;
  };
  CudaDevice described;
  described.name = name.data();
  described.bus_id = bus.data();
  described.compute_capability =
      10 * attribute(TW_CUDA_CAPABILITY_MAJOR) + attribute(TW_CUDA_CAPABILITY_MINOR);
  described.multiprocessors = attribute(kMultiprocessors);
  described.memory_bytes = static_cast<std::int64_t>(memory);
  described.l2_bytes = attribute(kL2CacheSize);
  TW_RETURN_IF_ERROR(
      api.Check(api.driver_version(&described.driver_version), "cuDriverGetVersion"));
  TW_RETURN_IF_ERROR(status);
  return described;
}

DeviceFingerprint FingerprintOf(const CudaDevice& device) {
  DeviceFingerprint fingerprint;
  fingerprint.kind = "cuda";
  fingerprint.model = device.name;
  fingerprint.isa = {"sm_" + std::to_string(device.compute_capability)};
  fingerprint.l2_bytes = device.l2_bytes;
  fingerprint.cores = device.multiprocessors;
  const int version = device.driver_version;  // 12040 is 12.4
  fingerprint.extra =
      "driver " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  return fingerprint;
}

Result<std::vector<CudaDevice>> CudaDevices(const std::string& library) {
  TW_ASSIGN_OR_RETURN(auto api, CudaApi::Open(library));
  int count = 0;
  TW_RETURN_IF_ERROR(api.Check(api.device_count(&count), "cuDeviceGetCount"));
  if (count == 0) return NotFound("the NVIDIA driver reports no device");
  std::vector<CudaDevice> devices;
  for (int i = 0; i < count; ++i) {
    TW_ASSIGN_OR_RETURN(auto device, DescribeCudaDevice(api, i));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace tilewright
