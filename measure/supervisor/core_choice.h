#pragma once

#include <string>
#include <vector>

#include "measure/device/device_lock.h"

// Included by .cc files of measure/ only.

namespace tilewright::measure {

/// The cores that the workers of one measurer run on.
struct CoreChoice {
  std::vector<int> runner, builders;  ///< ascending; the same one core where there is no other
  DeviceLock lock;                    ///< keeps the runner's core while it lives
  std::string note;                   ///< why the runner's core is not its alone; else empty
};

/// The last core of `allowed` (ascending, not empty) for the runner, the others for builders.
CoreChoice SplitCores(const std::vector<int>& allowed);

/// The same for a runner that must not be disturbed: its core is the last one that no other process
/// measures on, and builders keep off those above, where others do. If there is none it is the last
/// one all the same, with a note.
/// core_folder: see DeviceLock::TakeCore.
CoreChoice ReserveCores(const std::vector<int>& allowed, const std::string& core_folder);

}  // namespace tilewright::measure
