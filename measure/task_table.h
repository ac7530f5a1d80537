#pragma once

#include <cstdint>
#include <map>

#include "src/base/json.h"
#include "src/space/trial.h"

namespace tilewright::measure {

/// Members that the candidates of one task share. A worker receives them once, before the first
/// order of the task.
struct TaskInfo {
  Workload workload;
  Epilogue epilogue;
  Target target;
  friend bool operator==(const TaskInfo&, const TaskInfo&) = default;
};

/// Tasks by number. A supervisor assigns the numbers; a worker stores those it received. Pointers
/// stay valid as long as the table.
class TaskTable {
 public:
  static constexpr std::size_t kMax = 100'000;  ///< an upper bound far above the tasks of any job

  /// Returns the number of a candidate's task: an existing one, else the next.
  std::uint64_t NumberOf(const Candidate& candidate);
  /// Errors: kCorrupt for a number of a different task, or if the table is full.
  Status Add(std::uint64_t number, TaskInfo task);
  /// Returns null for an unknown number.
  const TaskInfo* Find(std::uint64_t number) const;

 private:
  std::map<std::uint64_t, TaskInfo> tasks_;
};

/// Message from the supervisor to every worker: a task and its number.
struct TaskMessage {
  std::uint64_t number = 0;
  TaskInfo task;
};
Json ToJson(const TaskMessage& message);
/// Errors: kCorrupt naming the field that is missing or of the wrong type; those of parsing.
Result<TaskMessage> TaskMessageFrom(const Json& json);
/// Adds a received task to a worker's table. Errors: those of TaskMessageFrom and of Add.
Status ReceiveTask(const Json& json, TaskTable& tasks);

}  // namespace tilewright::measure
