#pragma once

#include <span>
#include <string>
#include <vector>

#include "search/tuner.h"
#include "src/tensor/workload.h"

// Names of tasks in tables, distinct where ShortName (format.h) is not.

namespace tilewright::session {

/// Returns the name of the task of an expression file: the file, the result and its shape, as in
/// "softmax.tw P 256x200".
std::string ExpressionName(const std::string& path, const Expression& expression);

/// Returns such a name for a workload of a store, whose text has no names: "softmax.tw 256x200".
/// graph: model file of the job that tuned it. Empty if the workload is no expression of a file.
std::string ExpressionName(const std::string& graph, const Workload& workload);

/// Task of a table.
struct NamedTask {
  const Workload* workload = nullptr;  ///< null: a task without a workload; then `name` is set
  std::string target = {};             ///< short text; empty if the table has one target
  std::string name = {};               ///< replaces the short name; may be empty
};
/// Returns a name for each task. Where names would be equal, the properties in which the tasks
/// differ follow: element types, layouts, target, strides, padding, dilation, groups and shapes,
/// each only if it tells two of them apart. Equal tasks have equal names.
std::vector<std::string> DistinctNames(std::span<const NamedTask> tasks);
/// As above, of tasks for one target.
std::vector<std::string> DistinctNames(std::span<const search::TuneTask> tasks);

}  // namespace tilewright::session
