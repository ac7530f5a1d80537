#pragma once

#include "measure/interference_probe.h"
#include "measure/sampling.h"

namespace tilewright::measure {

/// Measures the probe's uncontended time and runs an A/A test: it times one loop several times as
/// if it were two candidates. Returns the largest relative difference that is not significant
/// (ResolutionOf). Takes about a quarter of a second.
double MeasureResolution(InterferenceProbe& probe, NoiseFilter& gate,
                         const SamplingSettings& settings);

}  // namespace tilewright::measure
