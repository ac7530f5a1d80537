#include "measure/device/device_runner.h"

#include <array>

#include "measure/device/grid_candidate.h"
#include "measure/device/vta_candidate.h"
#include "src/runtime/cuda_api.h"
#include "src/target/device.h"

namespace tilewright::measure {
namespace {

template <typename Runner>
std::unique_ptr<DeviceRunner> MakeOne(const RunWorkerSettings& settings) {
  return std::make_unique<Runner>(settings);
}

/// AMD GPUs are driven as those of CUDA are, by another library.
std::unique_ptr<DeviceRunner> MakeAmd(const RunWorkerSettings& settings) {
  RunWorkerSettings own = settings;
  if (own.cuda.library == CudaApi::kLibrary) own.cuda.library = CudaApi::kHipLibrary;
  return std::make_unique<CudaRunner>(own);
}

using MakeRunner = std::unique_ptr<DeviceRunner> (*)(const RunWorkerSettings&);
constexpr std::array kRunners = {DeviceTableRow<MakeRunner>{"cuda", &MakeOne<CudaRunner>},
                                 DeviceTableRow<MakeRunner>{"opencl", &MakeOne<OpenClRunner>},
                                 DeviceTableRow<MakeRunner>{"rocm", &MakeAmd},
                                 DeviceTableRow<MakeRunner>{"vta", &MakeOne<VtaRunner>}};

}  // namespace

std::unique_ptr<DeviceRunner> MakeDeviceRunner(const Target& target,
                                               const RunWorkerSettings& settings) {
  const MakeRunner* make = FindDeviceRow(kRunners, target);
  return make == nullptr ? nullptr : (*make)(settings);
}

}  // namespace tilewright::measure
