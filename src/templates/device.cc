// Device fingerprints and metrics of trials, a row for each device.

#include "src/templates/device.h"

#include <array>

#include "src/base/strings.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright {
namespace {

struct MeasuredOn {
  Result<DeviceFingerprint> (*fingerprint)(const Target&);
  /// Null: seconds.
  std::string (*metric)(const Target&) = nullptr;
  bool simulated = false;
  /// Null: the device's other metrics follow from its traits.
  std::vector<std::string> (*metrics)(const Target&) = nullptr;
};

/// This machine's CPU, or a generic CPU of another kind of processor.
Result<DeviceFingerprint> CpuFor(const Target& target) {
  if (ArchitectureOf(target) != HostArchitecture()) return GenericCpuFor(target);
  return ProbeHostCpu();
}

/// Any GPU that runs the code; without instruction sets for a model that only imported records
/// have.
Result<DeviceFingerprint> GpuFor(const Target& target) {
  auto any = GenericGpuFor(target);
  if (any.ok()) return any;
  DeviceFingerprint unknown;
  unknown.kind = target.device();
  return unknown;
}

Result<DeviceFingerprint> SimulatorFor(const Target& target) {
  TW_ASSIGN_OR_RETURN(auto vta, VtaTargetOf(target));
  return VtaDevice(vta);
}

std::string SimulatorMetric(const Target& target) { return target.Option("metric", kVtaCycles); }

/// Commands of open tasks run on this machine. The target lists the metrics that they report.
Result<DeviceFingerprint> MachineFor(const Target& /*target*/) { return ProbeHostCpu(); }

std::vector<std::string> ReportedMetrics(const Target& target) {
  return Split(target.Option("metrics", "seconds"), ',');
}

std::string ReportedMetric(const Target& target) { return ReportedMetrics(target).front(); }

/// OpenCL has no counter of energy, and that of AMD GPUs is not read.
std::vector<std::string> OnlyTimes(const Target& /*target*/) { return {"seconds"}; }

constexpr std::array kMeasured = {
    DeviceTableRow<MeasuredOn>{"llvm", {&CpuFor}},
    DeviceTableRow<MeasuredOn>{"cuda", {&GpuFor}},
    DeviceTableRow<MeasuredOn>{"opencl", {.fingerprint = &GenericGpuFor, .metrics = &OnlyTimes}},
    DeviceTableRow<MeasuredOn>{"rocm", {.fingerprint = &GpuFor, .metrics = &OnlyTimes}},
    DeviceTableRow<MeasuredOn>{"vta", {&SimulatorFor, &SimulatorMetric, true}},
    DeviceTableRow<MeasuredOn>{"program", {&MachineFor, &ReportedMetric, false, &ReportedMetrics}}};

}  // namespace

std::string MetricOf(const Target& target) {
  const MeasuredOn* device = FindDeviceRow(kMeasured, target);
  return device == nullptr || device->metric == nullptr ? "seconds" : device->metric(target);
}

std::vector<std::string> MetricsOf(const Target& target) {
  const MeasuredOn* device = FindDeviceRow(kMeasured, target);
  if (device != nullptr && device->metrics != nullptr) return device->metrics(target);
  std::vector<std::string> metrics = {MetricOf(target)};
  if (IsSimulated(target)) {
    metrics.emplace_back(metrics.front() == kVtaCycles ? kVtaDramBytes : kVtaCycles);
    return metrics;
  }
  if (DeviceTraitsOf(target).machine_code) metrics.emplace_back(kCodeBytes);
  metrics.emplace_back(kJoules);
  return metrics;
}

bool IsSimulated(const Target& target) {
  const MeasuredOn* device = FindDeviceRow(kMeasured, target);
  return device != nullptr && device->simulated;
}

Result<DeviceFingerprint> DeviceFor(const Target& target) {
  const MeasuredOn* device = FindDeviceRow(kMeasured, target);
  return device == nullptr ? ProbeHostCpu() : device->fingerprint(target);
}

}  // namespace tilewright
