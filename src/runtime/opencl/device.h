#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/runtime/opencl/api.h"
#include "src/target/cpu.h"

namespace tilewright {

/// Device as its OpenCL platform describes it.
struct OpenClDevice {
  OpenClApi::Object platform = nullptr, handle = nullptr;
  std::string platform_name, name;
  std::string version;  ///< "OpenCL 3.0 PoCL …"
  std::string driver;   ///< "3.1+debian"
  bool is_cpu = false;
  bool rounds_division = false;  ///< division and square root are correctly rounded on request
  int compute_units = 0;
  std::int64_t memory_bytes = 0, cache_bytes = 0, local_bytes = 0;
  std::int64_t work_group_size = 0;  ///< maximum
  std::int64_t alignment = 0;        ///< of a part of a buffer, in bytes
};

/// Returns the devices of all platforms, in the platforms' order.
/// Errors: kNotFound if there is none; kUnavailable with the driver's error.
Result<std::vector<OpenClDevice>> DescribeOpenClDevices(const OpenClApi& api);

/// Returns the device fingerprint stored with each trial.
DeviceFingerprint FingerprintOf(const OpenClDevice& device);

/// Returns the devices of this machine. Loads the library for the call; handles of the devices are
/// null.
/// Errors: those of OpenClApi::Open and DescribeOpenClDevices.
Result<std::vector<OpenClDevice>> OpenClDevices(const std::string& library = OpenClApi::kLibrary);

}  // namespace tilewright
