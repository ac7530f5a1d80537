#include "records/autotvm/selection.h"

#include <algorithm>

#include "records/autotvm/task.h"

namespace tilewright::records {

bool IsTarget(const Target& target, const Target& asked) {
  if (target.kind_name() != asked.kind_name()) return false;
  return std::ranges::all_of(asked.options(), [&target](const auto& option) {
    return target.options().contains(option.first) && target.Option(option.first) == option.second;
  });
}

Result<Selection> Selection::Parse(const std::string& target, const std::string& task) {
  Selection selection;
  if (!target.empty()) {
    auto parsed = Target::Parse(target);
    if (!parsed.ok()) return parsed.status().WithContext("--target");
    selection.target_ = *std::move(parsed);
  }
  if (task.empty()) return selection;
  if (task.find_first_of("([") == std::string::npos) {
    selection.name_ = task;
    return selection;
  }
  if (auto workload = Workload::Parse(task); workload.ok()) {
    selection.key_ = workload->Key();
    return selection;
  }
  auto parsed = AutotvmTask::Parse(task);
  if (!parsed.ok()) {
    return InvalidArgument(
        "--task: '" + task +
        "', expected a workload key, an AutoTVM tuple or the list of a log, or the name of an "
        "operator or template");
  }
  selection.tuple_ = parsed->tuple;
  if (parsed->workload.has_value()) selection.key_ = parsed->workload->Key();
  return selection;
}

bool Selection::Includes(const ImportedRecord& record) const {
  if (target_.has_value()) {
    const auto target = AutotvmTarget::Parse(record.target);
    if (!target.ok() || !IsTarget(target->target, *target_)) return false;
  }
  if (!name_.empty()) {
    return record.task == name_ || record.workload_key.starts_with(name_ + "(");
  }
  if (!tuple_.empty()) return record.tuple == tuple_;
  return key_.empty() || record.workload_key == key_;
}

bool Selection::Includes(const Candidate& candidate) const {
  const Workload& workload = candidate.task.workload;
  if (target_.has_value() && !IsTarget(candidate.task.target, *target_)) return false;
  if (!name_.empty()) return candidate.template_key == name_ || workload.op_name() == name_;
  if (!key_.empty()) return workload.Key() == key_;
  return tuple_.empty();
}

}  // namespace tilewright::records
