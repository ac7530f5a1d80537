#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/device/device_lock.h"

// Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Cores that the workers of one measurer run on.
struct CoreAssignment {
  std::vector<int> runner, builders;  ///< ascending; the same core if there is only one
  DeviceLock lock;                    ///< keeps the runner's core as long as the object lives
  DeviceLock user_lock;               ///< the same among this user's processes
  std::string note;                   ///< why the runner shares its core; else empty
};

/// Assigns the last core of `allowed` (ascending, not empty) to the runner, the others to builders.
CoreAssignment SplitCores(const std::vector<int>& allowed);

/// Assigns a core to a runner that must not be disturbed. Its core is the last one that no other
/// process measures on, and builders avoid the cores above it, where others measure. If no core is
/// free, the runner gets the last one all the same, with a note. If only cores remain that another
/// user's process has locked, the runner takes one of them, with a note: a user who locks all cores
/// cannot make this user's measurers share one. core_folder: see DeviceLock::TakeCore.
/// user_folders: see DeviceLock::TakeCoreOfUser.
CoreAssignment ReserveCores(const std::vector<int>& allowed, const std::string& core_folder,
                            std::span<const std::string> user_folders);

}  // namespace tilewright::measure
