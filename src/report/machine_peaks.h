#pragma once

#include <string>

#include "src/runtime/roofline.h"
#include "src/target/target.h"

namespace tilewright::report {

/// Returns for each rate the higher of two measurements: noise only lowers them.
MachinePeaks HigherPeaks(const MachinePeaks& a, const MachinePeaks& b);

/// Returns the peaks of this machine for code of the target: measured now, or a higher earlier
/// measurement from the user's data folder. All commands that print a share of the roofline use
/// these peaks. Zeros for a device whose peaks cannot be measured.
MachinePeaks PeaksHere(const Target& target);

/// Returns the higher of `measured` and the peaks that the file has for `machine`, and stores the
/// result in the file. An unreadable or unwritable file has no effect.
MachinePeaks KeepHighestPeaks(const std::string& path, const std::string& machine,
                              const MachinePeaks& measured);

}  // namespace tilewright::report
