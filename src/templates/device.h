#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// Name of what a trial's value is on a target: "seconds", or the metric of a VTA.
std::string MetricOf(const Target& target);

/// Bytes of machine code that a kernel takes.
inline constexpr std::string_view kCodeBytes = "code_bytes";

/// Joules of one execution.
inline constexpr std::string_view kJoules = "joules";

/// All that can be known of a trial on a target (Trial::ValueOf), MetricOf first: of a VTA "cycles"
/// and "dram_bytes", of machine code "seconds", "code_bytes" and "joules" (of which a job has to
/// ask: they take time, and not every machine counts them), of a GPU "seconds" and "joules".
std::vector<std::string> MetricsOf(const Target& target);

/// Whether a trial counts what a simulator does instead of timing it: it takes no longer than
/// looking at a candidate does, and gives the same value every time.
bool IsSimulated(const Target& target);

/// What trials for a target are measured on: this machine's CPU, the simulator of a VTA, or
/// anything that runs the code: of a GPU, or of another kind of processor (GenericGpuFor,
/// GenericCpuFor). Errors: those of VtaTargetOf and GenericCpuFor.
Result<DeviceFingerprint> DeviceFor(const Target& target);

}  // namespace tilewright
