#pragma once

#include <vector>

#include "records/store.h"
#include "search/registry.h"
#include "src/target/cpu.h"
#include "src/templates/open/open_task.h"

namespace tilewright::search {

/// Adds the records of an open task's kernel on other devices, or of other sizes of its problem: a
/// group for each device and task. Tasks of one kernel have one name, equal metrics, parameters of
/// equal names, and problems that differ in numbers only; their commands and values may differ.
/// Configs that the task's space lacks are left out. device: of the search; its own records of this
/// task are left out.
/// Errors: those of reading.
Status AddRecordsOfOthers(const records::Store& store, const OpenTask& task,
                          const DeviceFingerprint& device, std::vector<DeviceRecords>& groups);

}  // namespace tilewright::search
