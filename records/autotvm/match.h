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

/// Record that AutoTVM's dispatch applies for a task on a target.
struct AutotvmAnswer {
  std::optional<ImportedRecord> record;  ///< none: AutoTVM uses its fallback config
  std::string matched_by;                ///< "model" or "key:cuda"
  std::string explanation;               ///< never empty
  std::vector<Difference> differs;  ///< differing target options; AutoTVM does not compare them
  /// On a miss: tuples of the nearest other tasks with records.
  std::vector<std::string> nearest;
  /// On a miss: targets of the task's own imported records, as written.
  std::vector<std::string> other_targets;
  MissCause cause = {};  ///< on a miss
};

/// Looks up imported records by AutoTVM's dispatch rule (reference, sections 8 and 10).
///
/// The rule matches records by the query's model, then by each of its keys, in order. Among equal
/// matches the lowest mean cost wins; among equal costs, the first imported record. The rule does
/// not compare the kind, -mcpu or any other option. Logs precede the TopHub package of the target
/// (by its device, its keys and its kind, through TopHub's aliases). If the store lacks that
/// package, all its packages are searched.
///
/// package: only records of this TopHub package ("cuda"); empty: as above.
/// Errors: kNotFound if the store lacks the package.
Result<AutotvmAnswer> QueryAutotvm(const Store& store, const AutotvmTask& task,
                                   const AutotvmTarget& target, const std::string& package = {});

/// Looks up an operator: queries every template that AutoTVM offers for it on the target; the
/// lowest recorded cost wins. Sets `task` to the matched task.
/// Errors: kUnsupported if AutoTVM has no template for the operator on the target.
Result<AutotvmAnswer> QueryAutotvm(const Store& store, const Workload& workload,
                                   const AutotvmTarget& target, const std::string& package,
                                   std::optional<AutotvmTask>& task);

/// Imported records of a workload: their number and targets, as written.
struct ImportedTargets {
  std::int64_t records = 0;
  std::vector<std::string> targets;  ///< the one with most records first
};
/// Returns the imported records of a workload that have a cost, for any template and target.
Result<ImportedTargets> ImportedTargetsOf(const Store& store, const Workload& workload);

/// Returns the names of the templates that AutoTVM offers for an operator on a target.
std::vector<std::string> AutotvmTaskNames(const Workload& workload, const AutotvmTarget& target);

}  // namespace tilewright::records
