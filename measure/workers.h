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

/// Where the runner finds a GPU, for targets of CUDA.
struct CudaWorkerSettings {
  std::string library = CudaApi::kLibrary, nvml = GpuMonitor::kLibrary;
  int ordinal = 0;  ///< of the device
  /// Of the files that keep two processes off one device; all users' processes must agree.
  std::string lock_folder = "/tmp";
};

/// What the runner is configured with, by the first message it gets.
struct RunWorkerSettings {
  std::int64_t cache_bytes = std::int64_t{256} << 20;  ///< of the workbench
  std::int64_t memory_bytes = std::int64_t{2} << 30;   ///< one candidate may allocate
  /// Kernels are timed with weights that come from beyond the caches, as in a network
  /// (ColdWeights). Off: with the same ones in every call.
  bool cold_weights = true;
  bool calibrate = true;  ///< off: no A/A test, for simulators, whose numbers have no noise
  SamplingSettings sampling;
  CudaWorkerSettings cuda;
  /// Trials say joules, too (EnergyCounter): a tenth of a second longer each.
  bool joules = false;
  std::string powercap = PowercapCounter::kFolder;  ///< where those of processors are told
  /// Where quiet times of canaries are kept between runs (probe_baseline_file.h); empty: nowhere.
  std::string probe_baseline_file;
};

/// The builder: reads orders (messages.h) from in_fd, one JSON object per line, and writes replies
/// to out_fd until in_fd ends. Called by the hidden subcommand `child build`. Standard input and
/// output may be the two descriptors: they are moved away first, so that nothing a library prints
/// gets between the messages.
/// returns the exit code: 0 at the end of in_fd, 1 if a message cannot be understood.
int BuildWorkerMain(const TemplateRegistry& templates, int in_fd, int out_fd);

/// The runner, likewise: `child run`. Once configured it calibrates, makes the A/A test and writes
/// a greeting with their result.
int RunWorkerMain(int in_fd, int out_fd);

}  // namespace tilewright::measure
