#pragma once

#include <string>

#include "src/runtime/roofline.h"
#include "src/target/target.h"

namespace tilewright::report {

/// For each rate the higher of two measurements: noise only lowers them.
MachinePeaks HigherPeaks(const MachinePeaks& a, const MachinePeaks& b);

/// Peaks of this machine for code of the target: measured now, unless a higher measurement was kept
/// in the user's data folder. All commands that show a share of the roofline take their peaks from
/// here. Zeros for a device whose peaks cannot be measured.
MachinePeaks PeaksHere(const Target& target);

/// Highest of `measured` and the peaks that the file keeps for `machine`; keeps it there. A file
/// that cannot be read or written changes nothing.
MachinePeaks KeepHighestPeaks(const std::string& path, const std::string& machine,
                              const MachinePeaks& measured);

}  // namespace tilewright::report
