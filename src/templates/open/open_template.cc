#include "src/templates/open/open_template.h"

#include <cmath>
#include <memory>
#include <utility>

namespace tilewright {
namespace {

const OpenTask& TaskOf(const void* object) { return *static_cast<const OpenTask*>(object); }

std::string OpenRefuses(const void* object, const Workload& workload, const Target& /*target*/) {
  const OpenTask& task = TaskOf(object);
  return workload == task.workload ? std::string() : "only " + task.workload.Key();
}

Result<ConfigSpace> OpenKnobs(const void* object, const Workload& /*workload*/,
                              const Target& /*target*/) {
  return TaskOf(object).knobs;
}

Result<Config> OpenDefault(const void* object, const Workload& /*workload*/,
                           const Target& /*target*/) {
  const OpenTask& task = TaskOf(object);
  const OpenConfig config = task.space.Default();
  if (config.empty()) return NotFound("the space has no default");
  return task.knobs.At(task.space.IndexOf(config));
}

Result<Kernel> OpenApply(const void* object, const Workload& /*workload*/,
                         const Epilogue& /*epilogue*/, const Target& /*target*/,
                         const Config& config) {
  const OpenTask& task = TaskOf(object);
  const std::string violated = task.space.ViolatedCondition(task.space.FromIndex(config.index));
  if (!violated.empty()) return InvalidArgument("the condition " + violated);
  return Unsupported("an open task has no loops: its command is run");
}

}  // namespace

Status AddOpenTask(TemplateRegistry& templates, OpenTask task) {
  if (const std::string* known = templates.TextOf(task.key)) {
    if (*known == task.text) return {};
    return InvalidArgument(task.key + ": another text of the same hash is there already");
  }
  const auto kept = std::make_shared<const OpenTask>(std::move(task));
  TemplateEntry entry;
  entry.key = kept->key;
  entry.version = kOpenTaskVersion;
  entry.device = "program";
  entry.refuses = {kept.get(), &OpenRefuses};
  entry.define_space = {kept.get(), &OpenKnobs};
  entry.default_config = {kept.get(), &OpenDefault};
  entry.apply = {kept.get(), &OpenApply};
  entry.open = kept.get();
  TW_RETURN_IF_ERROR(templates.Add(entry));
  templates.Keep(kept->key, std::shared_ptr<const std::string>(kept, &kept->text));
  return {};
}

Status AddOpenTaskText(TemplateRegistry& templates, std::string_view key, std::string_view text,
                       std::string_view source) {
  TW_ASSIGN_OR_RETURN(auto task, ParseOpenTask(text, source));
  if (task.key != key) {
    return InvalidArgument("the text of " + std::string(key) + " is another one's");
  }
  return AddOpenTask(templates, std::move(task));
}

const OpenTask* FindOpenTask(const TemplateRegistry& templates, const Workload& workload) {
  const OpenTask* last = nullptr;
  for (const TemplateEntry& entry : templates.all()) {
    if (entry.open != nullptr && entry.open->workload == workload) last = entry.open;
  }
  return last;
}

bool Allows(const OpenTask& task, const Config& config) {
  return task.space.ViolatedCondition(task.space.FromIndex(config.index)).empty();
}

ProblemNeighbours::ProblemNeighbours(const TemplateRegistry& templates, const OpenTask* asked)
    : asked_(asked) {
  if (asked == nullptr || asked->input != OpenInput::kCaller) return;
  for (const TemplateEntry& entry : templates.all()) {
    const OpenTask* task = entry.open;
    if (task == nullptr || task->input != asked->input || task->name != asked->name) continue;
    by_key_.emplace(task->workload.Key(), task);
  }
}

double ProblemNeighbours::DistanceTo(std::string_view key) const {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return HUGE_VAL;
  return ProblemDistance(asked_->problem, found->second->problem);
}

std::string ProblemNeighbours::NameOf(std::string_view key) const {
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->problem.empty()) return std::string(key);
  return found->second->name + " " + ProblemText(found->second->problem);
}

}  // namespace tilewright
