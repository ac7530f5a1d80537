#pragma once

#include <string>
#include <vector>

#include "records/store.h"

namespace tilewright::records {

/// Fastest trial of one task in each of two stores or packages.
struct TaskDifference {
  std::string workload_key, target, device;  ///< device: model
  std::optional<Record> before, after;       ///< one may be missing
  /// Returns true if both have the task with the same config and value.
  bool same() const;
};

/// Returns every task of either store, by workload, target and device.
/// Errors: those of reading.
Result<std::vector<TaskDifference>> CompareBest(const Store& before, const Store& after);

}  // namespace tilewright::records
