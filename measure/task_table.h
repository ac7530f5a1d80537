#pragma once

#include <cstdint>
#include <map>

#include "src/base/json.h"
#include "src/space/trial.h"

namespace tilewright::measure {

/// What the candidates of one task share. A worker is told once, before the first order for it.
struct TaskInfo {
  Workload workload;
  Epilogue epilogue;
  Target target;
  friend bool operator==(const TaskInfo&, const TaskInfo&) = default;
};

/// Tasks by number: a supervisor gives the numbers, a worker knows those it was told. Pointers stay
/// valid as long as the table.
class TaskTable {
 public:
  static constexpr std::size_t kMax = 100'000;  ///< more than any job has are no tasks

  /// The number of a candidate's task: that of the same one, else the next.
  std::uint64_t NumberOf(const Candidate& candidate);
  /// Errors: kCorrupt for a number that is another task's, or one task too many.
  Status Add(std::uint64_t number, TaskInfo task);
  /// Null for a number that nobody has told.
  const TaskInfo* Find(std::uint64_t number) const;

 private:
  std::map<std::uint64_t, TaskInfo> tasks_;
};

/// Supervisor to every worker: a task and its number.
struct TaskMessage {
  std::uint64_t number = 0;
  TaskInfo task;
};
Json ToJson(const TaskMessage& message);
/// Errors: kCorrupt naming the field that is missing or of the wrong type; those of parsing.
Result<TaskMessage> TaskMessageFrom(const Json& json);
/// A worker that is told a task. Errors: those of TaskMessageFrom and of Add.
Status ReceiveTask(const Json& json, TaskTable& tasks);

}  // namespace tilewright::measure
