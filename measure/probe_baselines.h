#pragma once

#include <array>
#include <string>

#include "measure/interference_probe.h"

namespace tilewright::measure {

/// Uncontended times of the interference probes on this machine, kept between runs: a runner that
/// starts under interference has no other baseline. The core's probe comes first, then those of the
/// memory levels from 1 on; 0: unknown.
using ProbeBaselines = std::array<double, MemoryInterferenceProbe::kLevels>;

/// Reads the baselines from the last sixteen runs on `device` of the last twelve hours (clock rates
/// change, and machines move). Returns a low quartile, which neither one fast run nor a majority of
/// noisy runs determines. Returns 0 for all if the file is missing, invalid or of another device:
/// the runner can always measure them again.
ProbeBaselines ReadProbeBaselines(const std::string& path, const std::string& device,
                                  double unix_seconds);

/// Adds the times of the run that began at `run_seconds` to the file. Ignores write errors: the
/// next run measures the times again.
void UpdateProbeBaselines(const std::string& path, const std::string& device, double run_seconds,
                          double unix_seconds, const ProbeBaselines& seconds);

}  // namespace tilewright::measure
