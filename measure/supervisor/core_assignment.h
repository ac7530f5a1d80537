#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/device/device_lock.h"

// Included by .cc files of measure/ only.

namespace tilewright::measure {

/// The cores that the workers of one measurer run on.
struct CoreAssignment {
  std::vector<int> runner, builders;  ///< ascending; the same one core where there is no other
  DeviceLock lock;                    ///< keeps the runner's core while it lives
  DeviceLock user_lock;               ///< the same among this user's processes
  std::string note;                   ///< why the runner's core is not its alone; else empty
};

/// The last core of `allowed` (ascending, not empty) for the runner, the others for builders.
CoreAssignment SplitCores(const std::vector<int>& allowed);

/// The same for a runner that must not be disturbed: its core is the last one that no other process
/// measures on, and builders keep off those above, where others do. If there is none it is the last
/// one all the same, with a note.
/// A core that only another user's process has locked is taken if no other is left, with a note:
/// whoever locks all cores cannot make this user's measurers share one.
/// core_folder: see DeviceLock::TakeCore. user_folders: see DeviceLock::TakeCoreOfUser.
CoreAssignment ReserveCores(const std::vector<int>& allowed, const std::string& core_folder,
                            std::span<const std::string> user_folders);

}  // namespace tilewright::measure
