#include "src/plugins/plugin_template.h"

#include <utility>

#include "src/base/printable.h"
#include "src/plugins/plugin_call.h"
#include "src/plugins/plugin_host.h"

namespace tilewright::plugins {
namespace {

const tw_template& RowOf(const void* object) { return *static_cast<const tw_template*>(object); }

/// A tw_task and the texts it points to.
class AskedTask {
 public:
  AskedTask(const Workload& workload, const Epilogue& epilogue, const Target& target)
      : workload_(workload.Key()), target_(target.ToString()), epilogue_(epilogue.ToString()) {
    task_ = {sizeof(tw_task), target.num_threads(), workload_.c_str(), target_.c_str(),
             epilogue_.c_str()};
  }
  AskedTask(const AskedTask&) = delete;
  AskedTask& operator=(const AskedTask&) = delete;
  const tw_task* get() const { return &task_; }

 private:
  std::string workload_, target_, epilogue_;
  tw_task task_;
};

std::string PluginRefuses(const void* object, const Workload& workload, const Target& target) {
  const tw_template& row = RowOf(object);
  const AskedTask task(workload, {}, target);
  const char* reason = nullptr;
  const Status called = CallPlugin(row.key, "refuses", [&] { reason = row.refuses(task.get()); });
  if (!called.ok()) return called.message();
  if (reason == nullptr) return {};
  return *reason == '\0' ? "refused without a reason" : Printable(reason);
}

/// Returns a schedule handle for a workload. Errors: those of DefineAnchor.
Result<tw_schedule> NewSchedule(const Workload& workload, const Epilogue& epilogue) {
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(workload, epilogue));
  return tw_schedule{workload, epilogue, Schedule(std::move(compute))};
}

Result<ConfigSpace> PluginSpace(const void* object, const Workload& workload,
                                const Target& target) {
  const tw_template& row = RowOf(object);
  const Epilogue none;
  const AskedTask task(workload, none, target);
  TW_ASSIGN_OR_RETURN(auto schedule, NewSchedule(workload, none));
  tw_space space;
  TW_RETURN_IF_ERROR(CallPlugin(row.key, "define_space", [&] {
    row.define_space(task.get(), &space, &schedule, &PluginHost());
  }));
  if (!space.status.ok()) return space.status.WithContext(row.key);
  if (!schedule.schedule.status().ok()) return schedule.schedule.status().WithContext(row.key);
  return std::move(space.space);
}

Result<Config> PluginDefault(const void* object, const Workload& workload, const Target& target) {
  const tw_template& row = RowOf(object);
  TW_ASSIGN_OR_RETURN(auto space, PluginSpace(object, workload, target));
  std::int64_t index = 0;
  if (row.default_index != nullptr) {
    const AskedTask task(workload, {}, target);
    TW_RETURN_IF_ERROR(CallPlugin(row.key, "default_index",
                                  [&] { index = row.default_index(task.get(), space.size()); }));
  }
  if (index < 0 || index >= space.size()) {
    return InvalidArgument(std::string(row.key) + ": default_index is " + std::to_string(index) +
                           ", expected 0 to " + std::to_string(space.size() - 1));
  }
  return space.At(index);
}

Result<Kernel> PluginApply(const void* object, const Workload& workload, const Epilogue& epilogue,
                           const Target& target, const Config& config) {
  const tw_template& row = RowOf(object);
  const AskedTask task(workload, epilogue, target);
  TW_ASSIGN_OR_RETURN(auto schedule, NewSchedule(workload, epilogue));
  tw_config asked{config, {}};
  TW_RETURN_IF_ERROR(CallPlugin(row.key, "apply",
                                [&] { row.apply(task.get(), &asked, &schedule, &PluginHost()); }));
  if (!asked.status.ok()) return asked.status.WithContext(row.key);
  if (!schedule.schedule.status().ok()) return schedule.schedule.status().WithContext(row.key);
  return Kernel{std::move(schedule.schedule), std::move(schedule.layouts)};
}

}  // namespace

TemplateEntry EntryOfPlugin(const tw_template& row) {
  TemplateEntry entry;
  entry.key = row.key;
  entry.version = row.version;
  entry.device = row.device;
  entry.refuses = {&row, &PluginRefuses};
  entry.define_space = {&row, &PluginSpace};
  entry.default_config = {&row, &PluginDefault};
  entry.apply = {&row, &PluginApply};
  return entry;
}

}  // namespace tilewright::plugins
