#include "src/templates/device.h"

#include "src/target/gpu.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright {

std::string MetricOf(const Target& target) {
  return target.kind() == TargetKind::kVta ? target.Option("metric", kVtaCycles) : "seconds";
}

Result<DeviceFingerprint> DeviceFor(const Target& target) {
  if (target.kind() == TargetKind::kCuda) {
    auto any = AnyGpuFor(target);
    if (any.ok()) return any;
    DeviceFingerprint unknown;  // of a model that only imported records know
    unknown.kind = "cuda";
    return unknown;
  }
  if (target.kind() == TargetKind::kLlvm && ProcessorOf(target) != HostProcessor()) {
    return AnyCpuFor(target);
  }
  if (target.kind() != TargetKind::kVta) return ProbeHostCpu();
  auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  return VtaDevice(*vta);
}

}  // namespace tilewright
