#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/runtime/cuda_api.h"
#include "src/target/cpu.h"

namespace tilewright {

/// GPU as the CUDA driver describes it.
struct CudaDevice {
  std::string name;
  std::string bus_id;          ///< "0000:3b:00.0": the same in every process and library
  int compute_capability = 0;  ///< 75 for 7.5
  int multiprocessors = 0;
  int driver_version = 0;  ///< 12040 for a driver that supports CUDA 12.4
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
};

/// Queries a device.
/// Errors: kUnavailable with the driver's text.
Result<CudaDevice> DescribeCudaDevice(const CudaApi& api, int ordinal);

/// Returns the device fingerprint stored with each trial.
DeviceFingerprint FingerprintOf(const CudaDevice& device);

/// Returns the GPUs of this machine. Loads the driver's library for the call.
/// Errors: kNotFound if there is no driver or no device; kUnavailable with the driver's text if it
/// does not work.
Result<std::vector<CudaDevice>> CudaDevices(const std::string& library = CudaApi::kLibrary);

}  // namespace tilewright
