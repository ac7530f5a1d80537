#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/runtime/cuda_api.h"
#include "src/target/cpu.h"

namespace tilewright {

/// GPU as the CUDA driver or HIP describes it.
struct CudaDevice {
  std::string name;
  std::string bus_id;          ///< "0000:3b:00.0": the same in every process and library
  int compute_capability = 0;  ///< 75 for 7.5; 0 for AMD
  std::string processor;       ///< of AMD: "gfx906"; empty for CUDA
  int multiprocessors = 0;     ///< of AMD: compute units
  /// 12040 for a driver that supports CUDA 12.4; 60240000 for HIP 6.2.40000.
  int driver_version = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
};

/// Queries a device.
/// Errors: kUnavailable with the driver's text.
Result<CudaDevice> DescribeCudaDevice(const CudaApi& api, int ordinal);

/// Returns the device fingerprint stored with each trial.
DeviceFingerprint FingerprintOf(const CudaDevice& device);

/// Returns the version of the driver's interface: "12.4".
std::string DriverVersionOf(const CudaDevice& device);

/// Returns the GPUs of this machine, of NVIDIA or with CudaApi::kHipLibrary of AMD. Loads the
/// driver's library for the call. Errors: kNotFound if there is no driver or no device;
/// kUnavailable with the driver's text if it does not work.
Result<std::vector<CudaDevice>> CudaDevices(const std::string& library = CudaApi::kLibrary);

}  // namespace tilewright
