#pragma once

#include <cstdint>
#include <string>

#include "measure/energy.h"
#include "measure/sampling.h"
#include "src/runtime/cuda_api.h"
#include "src/runtime/nvml.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::measure {

/// GPU settings of the runner, for targets with grids. OpenCL takes the ordinal and the folder.
struct CudaWorkerSettings {
  std::string library = CudaApi::kLibrary, nvml = GpuMonitor::kLibrary;
  int ordinal = 0;  ///< of the device
  /// Folder of the files that lock a device for one process. It must be the same for all users.
  std::string lock_folder = "/tmp";
};

/// Configuration of the runner, in its first message.
struct RunWorkerSettings {
  std::int64_t cache_bytes = std::int64_t{256} << 20;  ///< of the operand cache
  std::int64_t memory_bytes = std::int64_t{2} << 30;   ///< maximum allocation of one candidate
  /// Times kernels with weights from beyond the caches, as in a network (ColdWeights). Off: every
  /// call takes the same weights.
  bool cold_weights = true;
  bool calibrate = true;  ///< off: no A/A test, for simulators, which have no noise
  SamplingSettings sampling;
  CudaWorkerSettings cuda;
  /// Adds joules to the trials (EnergyCounter), which takes a tenth of a second more for each.
  bool joules = false;
  std::string powercap = PowercapCounter::kFolder;  ///< folder of the processors' energy counters
  /// File of uncontended probe times, kept between runs (probe_baselines.h); empty: none.
  std::string probe_baseline_file;
};

/// Runs the builder: reads orders (messages.h) from in_fd, one JSON object per line, and writes
/// replies to out_fd until in_fd ends. The hidden subcommand `child build` calls it. The two
/// descriptors may be standard input and output: the function moves them away first, so that output
/// of libraries does not mix with the messages. Returns the exit code: 0 at the end of in_fd, 1
/// after an invalid message.
int BuildWorkerMain(const TemplateRegistry& templates, int in_fd, int out_fd);

/// Runs the runner in the same way: `child run`. After its configuration the runner calibrates,
/// runs the A/A test and writes a handshake with the result.
int RunWorkerMain(int in_fd, int out_fd);

}  // namespace tilewright::measure
