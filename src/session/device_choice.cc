#include "src/session/device_choice.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <vector>

#include "src/base/strings.h"
#include "src/compiler/emit/gpu_tables.h"
#include "src/compiler/run/run.h"
#include "src/runtime/cuda_driver.h"
#include "src/runtime/opencl/device.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/templates/device.h"

namespace tilewright::session {
namespace {

/// Errors: kInvalidArgument for a number of threads that the library of a file does not support.
Status CheckThreads(const std::string& file, const ModelLibrary& model, int threads) {
  if (model.on_gpu()) {
    return InvalidArgument("threads: the operators of " + file + " run on a GPU");
  }
  const auto target = Target::Parse(model.target());
  if (threads > 1 && target.ok() && target->num_threads() == 1) {
    return InvalidArgument(
        fmt::format("threads: {}, but {} was compiled for one thread; compile it for {} threads",
                    threads, file, threads));
  }
  return Status();
}

using Gpu = DeviceChoice::Gpu;

/// Returns the described device of this number.
template <typename Device>
Result<Device> Chosen(const std::vector<Device>& devices, int ordinal) {
  if (ordinal < static_cast<int>(devices.size())) return devices[static_cast<std::size_t>(ordinal)];
  return NotFound(fmt::format("device: {}, there are {}", ordinal, devices.size()));
}

Result<Gpu> FindCuda(const Target& target, const DeviceChoice& choice) {
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  auto devices = CudaDevices();
  if (!devices.ok()) {
    return devices.status().WithContext("target: '" + target.ToString() +
                                        "' needs a CUDA device (or device simt)");
  }
  TW_ASSIGN_OR_RETURN(const auto ordinal, choice.Ordinal());
  TW_ASSIGN_OR_RETURN(const auto device, Chosen(*devices, ordinal));
  if (device.compute_capability < capability) {
    return Unsupported(fmt::format("target: '{}' is for sm_{}, but {} is sm_{}", target.ToString(),
                                   capability, device.name, device.compute_capability));
  }
  return Gpu{ordinal, FingerprintOf(device)};
}

Result<Gpu> FindAmd(const Target& target, const DeviceChoice& choice) {
  TW_ASSIGN_OR_RETURN(const auto processor, AmdProcessorOf(target));
  auto devices = CudaDevices(CudaApi::kHipLibrary);
  if (!devices.ok()) {
    return devices.status().WithContext("target: '" + target.ToString() +
                                        "' needs an AMD device (or device simt)");
  }
  TW_ASSIGN_OR_RETURN(const auto ordinal, choice.Ordinal());
  TW_ASSIGN_OR_RETURN(const auto device, Chosen(*devices, ordinal));
  if (device.processor != processor.name) {
    return Unsupported(fmt::format("target: '{}' is for {}, but {} is {}", target.ToString(),
                                   processor.name, device.name, device.processor));
  }
  return Gpu{ordinal, FingerprintOf(device)};
}

Result<Gpu> FindOpenCl(const Target& target, const DeviceChoice& choice) {
  auto devices = OpenClDevices();
  if (!devices.ok()) {
    return devices.status().WithContext("target: '" + target.ToString() +
                                        "' needs an OpenCL device (or device simt)");
  }
  TW_ASSIGN_OR_RETURN(const auto ordinal, choice.Ordinal());
  TW_ASSIGN_OR_RETURN(const auto device, Chosen(*devices, ordinal));
  return Gpu{ordinal, FingerprintOf(device)};
}

using FindDevice = Result<Gpu> (*)(const Target&, const DeviceChoice&);
constexpr std::array kFinders = {DeviceTableRow<FindDevice>{"cuda", &FindCuda},
                                 DeviceTableRow<FindDevice>{"opencl", &FindOpenCl},
                                 DeviceTableRow<FindDevice>{"rocm", &FindAmd}};

}  // namespace

Status DeviceChoice::Check(const Target& target) const {
  if (device.empty()) return {};
  if (!DeviceTraitsOf(target).launches_grids) {
    return InvalidArgument("device: the target is '" + target.kind_name() +
                           "', expected cuda, opencl or rocm");
  }
  return simt() ? Status() : Ordinal().status();
}

Result<int> DeviceChoice::Ordinal() const {
  if (device.empty()) return 0;
  const auto ordinal = ParseInt64(device);
  if (!ordinal.ok() || *ordinal < 0 || *ordinal > std::numeric_limits<int>::max()) {
    return InvalidArgument("device: '" + device + "', expected the number of a GPU or simt");
  }
  return static_cast<int>(*ordinal);
}

Result<DeviceFingerprint> DeviceChoice::Fingerprint(const Target& target) const {
  TW_RETURN_IF_ERROR(Check(target));
  if (!DeviceTraitsOf(target).launches_grids) return DeviceFor(target);
  if (!simt()) {
    auto gpu = Find(target);
    if (gpu.ok()) return gpu->device;
    if (!device.empty()) return gpu.status();
  }
  return GenericGpuFor(target);
}

Result<DeviceChoice::Gpu> DeviceChoice::Find(const Target& target) const {
  TW_RETURN_IF_ERROR(Check(target));
  const FindDevice* find = FindDeviceRow(kFinders, target);
  if (find == nullptr) return Unsupported("target: '" + target.ToString() + "' has no grids");
  return (*find)(target, *this);
}

Status DeviceChoice::CheckRuns(const Target& target) const {
  TW_RETURN_IF_ERROR(Check(target));
  if (!DeviceTraitsOf(target).launches_grids) return {};
  if (simt()) {
    return Unsupported(
        "device simt: the emulator has no times to choose by; tilewright measure --device simt "
        "verifies one config");
  }
  return Find(target).status();
}

Status DeviceChoice::CheckUnused() const {
  if (device.empty()) return {};
  return InvalidArgument("device: expected target cuda, opencl or rocm with it");
}

Result<ModelLibrary> DeviceChoice::OpenLibrary(const std::string& file, int threads,
                                               int set) const {
  TW_ASSIGN_OR_RETURN(auto model, ModelLibrary::Open(file, set));
  if (threads > 0) TW_RETURN_IF_ERROR(CheckThreads(file, model, threads));
  if (threads > 0) TW_RETURN_IF_ERROR(model.SetThreads(threads));
  if (!model.on_gpu()) {
    const Status unused = CheckUnused();
    if (!unused.ok()) return unused.WithContext(model.name());
    return model;
  }
  TW_ASSIGN_OR_RETURN(const auto target, Target::Parse(model.target()));
  if (simt()) {
    return InvalidArgument("device simt: the emulator takes the model file, with target " +
                           target.kind_name());
  }
  TW_ASSIGN_OR_RETURN(auto ordinal, Ordinal());
  const Status opened = model.UseDevice(DriverLibraryOf(target), ordinal);
  if (opened.ok()) return model;
  if (opened.code() != StatusCode::kNotFound) return opened;  // a driver and the device exist
  return NotFound(opened.message() +
                  "; `tilewright run` and `verify` of the model file emulate one with --target '" +
                  target.ToString() + "' --device simt");
}

}  // namespace tilewright::session
