#pragma once

#include <string>
#include <vector>

#include "records/store.h"

namespace tilewright::records {

/// The fastest trial of one task in each of two stores or packages.
struct TaskDifference {
  std::string workload_key, target, device;  ///< device: model
  std::optional<Record> before, after;       ///< one may be missing
  /// True if both have the task with the same config and value.
  bool same() const;
};

/// Every task of either, by workload, target and device.
/// Errors: those of reading.
Result<std::vector<TaskDifference>> CompareBest(const Store& before, const Store& after);

}  // namespace tilewright::records
