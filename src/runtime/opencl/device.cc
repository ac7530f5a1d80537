#include "src/runtime/opencl/device.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

#include "src/base/strings.h"

namespace tilewright {
namespace {

using Api = OpenClApi;

template <typename Query>
Result<std::string> Text(const Query& query, Api::Object object, Api::Uint name, const char* call) {
  std::size_t bytes = 0;
  TW_RETURN_IF_ERROR(Api::Check(query(object, name, 0, nullptr, &bytes), call));
  std::string text(bytes, '\0');
  TW_RETURN_IF_ERROR(Api::Check(query(object, name, bytes, text.data(), nullptr), call));
  text.resize(std::min(text.find('\0'), text.size()));
  return std::string(Trim(text));
}

template <typename Number>
Status Ask(const Api& api, Api::Object device, Api::Uint name, std::int64_t* to) {
  Number value = 0;
  TW_RETURN_IF_ERROR(Api::Check(api.GetDeviceInfo(device, name, sizeof(value), &value, nullptr),
                                "clGetDeviceInfo"));
  *to = static_cast<std::int64_t>(value);
  return {};
}

Result<OpenClDevice> Describe(const Api& api, Api::Object platform, Api::Object handle) {
  constexpr const char* kCall = "clGetDeviceInfo";
  OpenClDevice device;
  device.platform = platform;
  device.handle = handle;
  TW_ASSIGN_OR_RETURN(device.platform_name, Text(api.GetPlatformInfo, platform, TW_CL_PLATFORM_NAME,
                                                 "clGetPlatformInfo"));
  TW_ASSIGN_OR_RETURN(device.name, Text(api.GetDeviceInfo, handle, TW_CL_DEVICE_NAME, kCall));
  TW_ASSIGN_OR_RETURN(device.version, Text(api.GetDeviceInfo, handle, TW_CL_DEVICE_VERSION, kCall));
  TW_ASSIGN_OR_RETURN(device.driver, Text(api.GetDeviceInfo, handle, TW_CL_DEVICE_DRIVER, kCall));
  std::int64_t type = 0, units = 0, bits = 0, floats = 0;
  TW_RETURN_IF_ERROR(Ask<Api::Bits>(api, handle, TW_CL_DEVICE_TYPE, &type));
  TW_RETURN_IF_ERROR(Ask<Api::Uint>(api, handle, TW_CL_DEVICE_COMPUTE_UNITS, &units));
  TW_RETURN_IF_ERROR(Ask<Api::Uint>(api, handle, TW_CL_DEVICE_ALIGNMENT_BITS, &bits));
  TW_RETURN_IF_ERROR(Ask<Api::Bits>(api, handle, TW_CL_DEVICE_FLOAT_CONFIG, &floats));
  TW_RETURN_IF_ERROR(
      Ask<std::uint64_t>(api, handle, TW_CL_DEVICE_MEMORY_BYTES, &device.memory_bytes));
  TW_RETURN_IF_ERROR(
      Ask<std::uint64_t>(api, handle, TW_CL_DEVICE_CACHE_BYTES, &device.cache_bytes));
  TW_RETURN_IF_ERROR(
      Ask<std::uint64_t>(api, handle, TW_CL_DEVICE_LOCAL_BYTES, &device.local_bytes));
  TW_RETURN_IF_ERROR(
      Ask<std::size_t>(api, handle, TW_CL_DEVICE_WORK_GROUP_SIZE, &device.work_group_size));
  device.is_cpu = (static_cast<Api::Bits>(type) & TW_CL_TYPE_CPU) != 0;
  device.rounds_division = (static_cast<Api::Bits>(floats) & TW_CL_ROUNDS_DIVISION) != 0;
  device.compute_units = static_cast<int>(units);
  device.alignment = std::max<std::int64_t>(1, bits / 8);
  return device;
}

}  // namespace

Result<std::vector<OpenClDevice>> DescribeOpenClDevices(const OpenClApi& api) {
  TwOpenClPlace* places = nullptr;
  std::size_t count = 0;
  const char* call = nullptr;
  const Api::Int code = TwOpenClPlaces(&api, &places, &count, &call);
  const std::unique_ptr<TwOpenClPlace, decltype(&std::free)> owned(places, &std::free);
  TW_RETURN_IF_ERROR(Api::Check(code, call));
  if (count == 0) {
    return NotFound("OpenCL has no device here (packages of drivers: pocl-opencl-icd, …)");
  }
  std::vector<OpenClDevice> devices;
  for (const TwOpenClPlace& place : std::span(places, count)) {
    TW_ASSIGN_OR_RETURN(auto device, Describe(api, place.platform, place.device));
    devices.push_back(std::move(device));
  }
  return devices;
}

DeviceFingerprint FingerprintOf(const OpenClDevice& device) {
  DeviceFingerprint fingerprint;
  fingerprint.kind = "opencl";
  fingerprint.model = device.name;
  // No instruction sets: the source is compiled for the device that runs it.
  fingerprint.l2_bytes = device.cache_bytes;
  fingerprint.cores = device.compute_units;
  fingerprint.extra = device.platform_name + ", driver " + device.driver;
  return fingerprint;
}

Result<std::vector<OpenClDevice>> OpenClDevices(const std::string& library) {
  TW_ASSIGN_OR_RETURN(auto api, OpenClApi::Open(library));
  TW_ASSIGN_OR_RETURN(auto devices, DescribeOpenClDevices(api));
  for (OpenClDevice& device : devices) device.platform = device.handle = nullptr;
  return devices;
}

}  // namespace tilewright
