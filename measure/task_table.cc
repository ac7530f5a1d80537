#include "measure/task_table.h"

#include <utility>

#include "measure/message_fields.h"

namespace tilewright::measure {

std::uint64_t TaskTable::NumberOf(const Candidate& candidate) {
  // Jobs have a handful of tasks, which differ in their first fields.
  for (const auto& [number, task] : tasks_) {
    if (task.workload == candidate.task.workload && task.target == candidate.task.target &&
        task.epilogue == candidate.epilogue) {
      return number;
    }
  }
  const std::uint64_t number = tasks_.empty() ? 1 : tasks_.rbegin()->first + 1;
  tasks_[number] = {candidate.task.workload, candidate.epilogue, candidate.task.target};
  return number;
}

Status TaskTable::Add(std::uint64_t number, TaskInfo task) {
  const auto found = tasks_.find(number);
  if (found != tasks_.end()) {
    if (found->second == task) return {};
    return Corrupt("message: task " + std::to_string(number) + " is another one already");
  }
  if (tasks_.size() >= kMax) return Corrupt("message: a task too many");
  tasks_.emplace(number, std::move(task));
  return {};
}

const TaskInfo* TaskTable::Find(std::uint64_t number) const {
  const auto found = tasks_.find(number);
  return found == tasks_.end() ? nullptr : &found->second;
}

static void Describe(auto& fields, DescribedAs<TaskMessage> auto& message) {
  fields("task", message.number);
  fields("workload", message.task.workload, TextCodec<&Workload::Key, Workload::Parse>());
  fields("epilogue", message.task.epilogue, TextCodec<&Epilogue::ToString, Epilogue::Parse>());
  fields("target", message.task.target, TextCodec<&Target::ToString, Target::Parse>());
}

Json ToJson(const TaskMessage& message) { return WriteJson(message, Json{{"type", "task"}}); }

Result<TaskMessage> TaskMessageFrom(const Json& json) {
  return ReadJson<TaskMessage>(json, kMessage);
}

Status ReceiveTask(const Json& json, TaskTable& tasks) {
  TW_ASSIGN_OR_RETURN(auto message, TaskMessageFrom(json));
  return tasks.Add(message.number, std::move(message.task));
}

}  // namespace tilewright::measure
