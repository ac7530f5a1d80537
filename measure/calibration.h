#pragma once

#include "measure/interference_probe.h"
#include "measure/sampling.h"

namespace tilewright::measure {

/// Learns the canary's quiet time and runs an A/A test: one and the same loop is timed several
/// times as if it were two candidates; returns the relative difference between two such values that
/// means nothing (ResolutionOf). Takes about a quarter of a second.
double MeasureResolution(InterferenceProbe& probe, NoiseFilter& gate,
                         const SamplingSettings& settings);

}  // namespace tilewright::measure
