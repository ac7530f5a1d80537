#include "src/session/device_choice.h"

#include <fmt/format.h>

#include <limits>

#include "src/base/strings.h"
#include "src/compiler/run/run.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/templates/device.h"

namespace tilewright::session {
namespace {

/// Errors: kInvalidArgument for a number of threads that the library of a file does not support.
Status CheckThreads(const std::string& file, const ModelLibrary& model, int threads) {
  if (model.on_gpu()) {
    return InvalidArgument("--threads: the operators of " + file + " run on a GPU");
  }
  const auto target = Target::Parse(model.target());
  if (threads > 1 && target.ok() && target->num_threads() == 1) {
    return InvalidArgument(fmt::format(
        "--threads: {}, but {} was compiled for one thread; compile it with --threads {}", threads,
        file, threads));
  }
  return Status();
}

}  // namespace

Status DeviceChoice::Check(const Target& target) const {
  if (device.empty()) return {};
  if (!DeviceTraitsOf(target).launches_grids) {
    return InvalidArgument("--device: the target is '" + target.kind_name() + "', expected cuda");
  }
  return simt() ? Status() : Ordinal().status();
}

Result<int> DeviceChoice::Ordinal() const {
  if (device.empty()) return 0;
  const auto ordinal = ParseInt64(device);
  if (!ordinal.ok() || *ordinal < 0 || *ordinal > std::numeric_limits<int>::max()) {
    return InvalidArgument("--device: '" + device + "', expected the number of a GPU or simt");
  }
  return static_cast<int>(*ordinal);
}

Result<DeviceFingerprint> DeviceChoice::Fingerprint(const Target& target) const {
  TW_RETURN_IF_ERROR(Check(target));
  if (!DeviceTraitsOf(target).launches_grids) return DeviceFor(target);
  if (!simt()) {
    auto gpu = Find(target);
    if (gpu.ok()) return FingerprintOf(gpu->device);
    if (!device.empty()) return gpu.status();
  }
  return GenericGpuFor(target);
}

Result<DeviceChoice::Gpu> DeviceChoice::Find(const Target& target) const {
  TW_RETURN_IF_ERROR(Check(target));
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  auto devices = CudaDevices();
  if (!devices.ok()) {
    return devices.status().WithContext("--target: '" + target.ToString() +
                                        "' needs a CUDA device (or --device simt)");
  }
  TW_ASSIGN_OR_RETURN(const auto ordinal, Ordinal());
  if (ordinal >= static_cast<int>(devices->size())) {
    return NotFound(fmt::format("--device: {}, there are {}", ordinal, devices->size()));
  }
  Gpu gpu{ordinal, (*devices)[static_cast<std::size_t>(ordinal)]};
  if (gpu.device.compute_capability < capability) {
    return Unsupported(fmt::format("--target: '{}' is for sm_{}, but {} is sm_{}",
                                   target.ToString(), capability, gpu.device.name,
                                   gpu.device.compute_capability));
  }
  return gpu;
}

Status DeviceChoice::CheckRuns(const Target& target) const {
  TW_RETURN_IF_ERROR(Check(target));
  if (!DeviceTraitsOf(target).launches_grids) return {};
  if (simt()) {
    return Unsupported(
        "--device simt: the emulator has no times to choose by; tilewright measure --device simt "
        "verifies one config");
  }
  return Find(target).status();
}

Status DeviceChoice::CheckUnused() const {
  if (device.empty()) return {};
  return InvalidArgument("--device: expected --target cuda with it");
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
  if (simt()) {
    return InvalidArgument("--device simt: the emulator takes the model file, with --target cuda");
  }
  TW_ASSIGN_OR_RETURN(auto ordinal, Ordinal());
  const Status opened = model.UseDevice(CudaApi::kLibrary, ordinal);
  if (opened.ok()) return model;
  if (opened.code() != StatusCode::kNotFound) return opened;  // a driver and the device exist
  return NotFound(opened.message() +
                  "; `run` and `verify` of the model file emulate one with --target 'cuda "
                  "-arch=...' --device simt");
}

}  // namespace tilewright::session
