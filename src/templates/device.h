#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// Name of the metric of a trial's value on a target: "seconds", or the metric of a VTA.
std::string MetricOf(const Target& target);

/// Metric: bytes of machine code of a kernel.
inline constexpr std::string_view kCodeBytes = "code_bytes";

/// Metric: joules of one execution.
inline constexpr std::string_view kJoules = "joules";

/// Metrics that a trial on a target can have (Trial::ValueOf), MetricOf first: "cycles" and
/// "dram_bytes" on a VTA; "seconds", "code_bytes" and "joules" of machine code; "seconds" and
/// "joules" on a GPU. A job has to request joules: measuring them takes time, and not every machine
/// can.
std::vector<std::string> MetricsOf(const Target& target);

/// Whether trials on the target run on a simulator, which counts instead of timing. A simulated
/// trial takes no longer than the analysis of a candidate, and always returns the same value.
bool IsSimulated(const Target& target);

/// Device fingerprint of trials for a target: of this machine's CPU, of the simulator of a VTA, or
/// of any device that runs the code (GenericGpuFor, GenericCpuFor) for a GPU or another kind of
/// processor.
/// Errors: those of VtaTargetOf and GenericCpuFor.
Result<DeviceFingerprint> DeviceFor(const Target& target);

}  // namespace tilewright
