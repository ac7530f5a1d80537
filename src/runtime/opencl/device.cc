#include "src/runtime/opencl/device.h"

#include <algorithm>
#include <utility>

#include "src/base/strings.h"

namespace tilewright {
namespace {

using Api = OpenClApi;

constexpr Api::Bits kAllTypes = 0xFFFFFFFF;
constexpr Api::Bits kCpuType = 1 << 1;
constexpr Api::Bits kCorrectlyRoundedDivision = 1 << 7;
constexpr Api::Int kDeviceNotFound = -1, kNoPlatform = -1001;

enum PlatformName : Api::Uint { kPlatformName = 0x0902 };
enum DeviceName : Api::Uint {
  kType = 0x1000,
  kComputeUnits = 0x1002,
  kWorkGroupSize = 0x1004,
  kAlignmentBits = 0x1019,
  kFloatConfig = 0x101B,
  kCacheBytes = 0x101E,
  kMemoryBytes = 0x101F,
  kLocalBytes = 0x1023,
  kName = 0x102B,
  kDriverVersion = 0x102D,
  kVersion = 0x102F,
};

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
  TW_ASSIGN_OR_RETURN(device.platform_name,
                      Text(api.GetPlatformInfo, platform, kPlatformName, "clGetPlatformInfo"));
  TW_ASSIGN_OR_RETURN(device.name, Text(api.GetDeviceInfo, handle, kName, kCall));
  TW_ASSIGN_OR_RETURN(device.version, Text(api.GetDeviceInfo, handle, kVersion, kCall));
  TW_ASSIGN_OR_RETURN(device.driver, Text(api.GetDeviceInfo, handle, kDriverVersion, kCall));
  std::int64_t type = 0, units = 0, bits = 0, floats = 0;
  TW_RETURN_IF_ERROR(Ask<Api::Bits>(api, handle, kType, &type));
  TW_RETURN_IF_ERROR(Ask<Api::Uint>(api, handle, kComputeUnits, &units));
  TW_RETURN_IF_ERROR(Ask<Api::Uint>(api, handle, kAlignmentBits, &bits));
  TW_RETURN_IF_ERROR(Ask<Api::Bits>(api, handle, kFloatConfig, &floats));
  TW_RETURN_IF_ERROR(Ask<std::uint64_t>(api, handle, kMemoryBytes, &device.memory_bytes));
  TW_RETURN_IF_ERROR(Ask<std::uint64_t>(api, handle, kCacheBytes, &device.cache_bytes));
  TW_RETURN_IF_ERROR(Ask<std::uint64_t>(api, handle, kLocalBytes, &device.local_bytes));
  TW_RETURN_IF_ERROR(Ask<std::size_t>(api, handle, kWorkGroupSize, &device.work_group_size));
  device.is_cpu = (static_cast<Api::Bits>(type) & kCpuType) != 0;
  device.rounds_division = (static_cast<Api::Bits>(floats) & kCorrectlyRoundedDivision) != 0;
  device.compute_units = static_cast<int>(units);
  device.alignment = std::max<std::int64_t>(1, bits / 8);
  return device;
}

}  // namespace

Result<std::vector<OpenClDevice>> DescribeOpenClDevices(const OpenClApi& api) {
  Api::Uint count = 0;
  const Api::Int found = api.GetPlatformIDs(0, nullptr, &count);
  if (found == kNoPlatform || (found == 0 && count == 0)) {
    return NotFound("OpenCL has no platform here (packages of drivers: pocl-opencl-icd, …)");
  }
  TW_RETURN_IF_ERROR(Api::Check(found, "clGetPlatformIDs"));
  std::vector<Api::Object> platforms(count);
  TW_RETURN_IF_ERROR(
      Api::Check(api.GetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs"));
  std::vector<OpenClDevice> devices;
  for (const Api::Object platform : platforms) {
    const Api::Int any = api.GetDeviceIDs(platform, kAllTypes, 0, nullptr, &count);
    if (any == kDeviceNotFound) continue;
    TW_RETURN_IF_ERROR(Api::Check(any, "clGetDeviceIDs"));
    std::vector<Api::Object> handles(count);
    TW_RETURN_IF_ERROR(Api::Check(
        api.GetDeviceIDs(platform, kAllTypes, count, handles.data(), nullptr), "clGetDeviceIDs"));
    for (const Api::Object handle : handles) {
      TW_ASSIGN_OR_RETURN(auto device, Describe(api, platform, handle));
      devices.push_back(std::move(device));
    }
  }
  if (devices.empty()) return NotFound("no OpenCL platform of this machine has a device");
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
