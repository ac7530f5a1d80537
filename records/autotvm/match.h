#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/autotvm/task.h"
#include "records/difference.h"
#include "records/imported.h"
#include "records/store.h"
#include "src/base/status.h"

namespace tilewright::records {

/// What AutoTVM would have applied for a task on a target.
struct AutotvmAnswer {
  std::optional<ImportedRecord> record;  ///< none: AutoTVM takes its fallback config
  std::string matched_by;                ///< "model" or "key:cuda"
  std::string explanation;               ///< never empty
  std::vector<Difference> differs;   ///< target options that differ; AutoTVM does not compare them
  std::vector<std::string> nearest;  ///< on a miss: tuples of the nearest tasks with records
};

/// Answers as AutoTVM's dispatch does with what was imported (reference, sections 8 and 10).
///
/// Records are looked up by the query's model, then by each of its keys, in order; among records of
/// equal standing the lowest mean cost wins, the first imported among equals. Kind, -mcpu and all
/// else is not compared. Logs come first; then the TopHub package of the target (its device, its
/// keys, its kind, through TopHub's aliases), or, where that is not in the store, all packages that
/// are.
///
/// package: only records of this TopHub package ("cuda"); empty: as above.
/// Errors: kNotFound if the store has no such package.
Result<AutotvmAnswer> QueryAutotvm(const Store& store, const AutotvmTask& task,
                                   const AutotvmTarget& target, const std::string& package = {});

/// The same for an operator: every template AutoTVM would offer it on the target is asked for, the
/// lowest recorded cost wins. `task` is set to the one that answered.
/// Errors: kUnsupported if AutoTVM has no template for it there.
Result<AutotvmAnswer> QueryAutotvm(const Store& store, const Workload& workload,
                                   const AutotvmTarget& target, const std::string& package,
                                   std::optional<AutotvmTask>& task);

/// Names of the templates AutoTVM offers an operator on a target.
std::vector<std::string> AutotvmTaskNames(const Workload& workload, const AutotvmTarget& target);

}  // namespace tilewright::records
