#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "records/store.h"
#include "search/job_log.h"
#include "search/registry.h"
#include "search/task_state.h"

namespace tilewright::search {

/// Trials of other tasks that a new strategy may learn from: those of the job itself and those
/// older jobs left in the store. What it hands out refers to it.
class WarmPool {
 public:
  /// Reads trials of other jobs on the same target, up to a fixed number. Those that no present
  /// template can describe are left out. Errors: the store's.
  static Result<WarmPool> Load(const TemplateRegistry& templates, const records::Store& store,
                               std::int64_t job, const Target& target);
  WarmPool() = default;

  /// Which trials a strategy of tasks[task] should begin with: first those of tasks
  /// of like structure.
  BeginEntry Choose(const std::vector<std::unique_ptr<TaskState>>& tasks, int task) const;
  /// The trials themselves, as far as they are still there.
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

/// The fastest configs of a task that other versions of their template or of the code generator
/// measured on this device, and the present ones have not: what a new search begins with, as nobody
/// is served them before they are measured again. Few, the fastest first.
/// Errors: the store's.
Result<std::vector<Point>> StalePoints(const records::Store& store, const SearchSpace& space,
                                       const DeviceFingerprint& device);

}  // namespace tilewright::search
