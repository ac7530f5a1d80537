#pragma once

#include <array>
#include <string>

#include "measure/interference_probe.h"

namespace tilewright::measure {

/// How long canaries take on this machine when nothing disturbs them, kept between runs: a runner
/// started in noise would take it for quiet. The canary of the core comes first, then those of the
/// memory levels from 1 on; 0: unknown.
using ProbeBaselines = std::array<double, MemoryInterferenceProbe::kLevels>;

/// What the last sixteen runs on `device` say, those of the last twelve hours (clocks change, and
/// machines move): a low quartile of theirs, so that neither a lucky run nor most runs in noise
/// decide. All 0 where there is no such file, or it is of another device or not understood: it can
/// always be learned again.
ProbeBaselines ReadProbeBaselines(const std::string& path, const std::string& device,
                                  double unix_seconds);

/// Writes what the run that began at `run_seconds` has seen. Says nothing if it cannot: the next
/// run learns as this one did.
void UpdateProbeBaselines(const std::string& path, const std::string& device, double run_seconds,
                          double unix_seconds, const ProbeBaselines& seconds);

}  // namespace tilewright::measure
