#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "records/store.h"
#include "search/job_log.h"
#include "search/registry.h"
#include "search/tune/task_state.h"

namespace tilewright::search {

/// Trials of other tasks that a new strategy may learn from: those of this job and of older jobs in
/// the store. Returned groups point into it.
class WarmPool {
 public:
  /// Reads trials of other jobs on the same target, up to a fixed number. Skips trials that no
  /// present template can describe. Errors: the store's.
  static Result<WarmPool> Load(const TemplateRegistry& templates, const records::Store& store,
                               std::int64_t job, const Target& target);
  WarmPool() = default;

  /// Selects the trials that a strategy of tasks[task] starts with: tasks of similar structure
  /// first.
  BeginEntry Choose(const std::vector<std::unique_ptr<TaskState>>& tasks, int task) const;
  /// Returns the selected trials, as far as they still exist.
  std::vector<WarmGroup> Collect(const std::vector<std::unique_ptr<TaskState>>& tasks,
                                 const BeginEntry& begin) const;

 private:
  struct Group {
    std::string key;
    std::string structure;
    SearchSpace space;
    std::unique_ptr<StaticAnalyzer> analyzer;
    std::vector<Observation> trials;
  };
  std::deque<std::unique_ptr<Group>> groups_;
};

/// Returns the fastest configs of a task that other versions of their template or of the code
/// generator measured on this device, and the present versions did not. A new search starts with
/// them, because they are not served until they are measured again. Few, the fastest first. Errors:
/// the store's.
Result<std::vector<Point>> StalePoints(const records::Store& store, const SearchSpace& space,
                                       const DeviceFingerprint& device);

}  // namespace tilewright::search
