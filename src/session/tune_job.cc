// Metric and tasks of a tuning job.

#include "src/session/tune_job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/session/model.h"
#include "src/session/tasks.h"
#include "src/target/device.h"
#include "src/templates/device.h"

namespace tilewright::session {
namespace {

/// Options for reading a job's model.
ModelOptions ModelOf(const search::JobSettings& settings) {
  return {{settings.shape, settings.dim, settings.value},
          settings.requantize,
          settings.precision,
          settings.sizes};
}

}  // namespace

Status ChooseMetric(search::JobSettings& settings, Target& target) {
  if (settings.metric.empty()) return {};
  const std::string& first = settings.metric.front();
  const std::string own = MetricOf(target);
  if (first != own && IsSimulated(target)) {
    if (!target.Option("metric").empty()) {
      return InvalidArgument("--metric: " + first + " first, but the target has -metric=" + own);
    }
    target.SetOption("metric", first);
    const auto known = DeviceFor(target);
    if (!known.ok()) return known.status().WithContext("--metric");
    settings.target = target.ToString();
  }
  if (settings.metric.size() == 1 && first == MetricOf(target)) settings.metric.clear();
  return {};
}

Result<std::optional<SizeRange>> TakeRange(search::JobSettings& settings, const NoteSink& note) {
  ModelOptions model = ModelOf(settings);
  TW_ASSIGN_OR_RETURN(auto range, model.TakeRange(settings.graph));
  if (!range) return range;
  settings.dim = model.bindings.dims;
  note(RangeNote(*range));
  return range;
}

Status UseRange(const search::JobSettings& settings, const SizeRange& range, const Target& target,
                std::vector<search::TuneTask>& tasks) {
  TW_RETURN_IF_ERROR(CheckRangeTarget(range, target));
  return UseRange(ModelOf(settings), settings.graph, range, target, tasks);
}

Result<std::vector<search::TuneTask>> TasksOfJob(const TemplateRegistry& templates,
                                                 search::JobSettings& settings,
                                                 const Target& target, const JobTasks& chosen,
                                                 const NoteSink& note) {
  const ModelOptions model = ModelOf(settings);
  TW_ASSIGN_OR_RETURN(const auto sources, model.Sources(settings.graph));
  TW_ASSIGN_OR_RETURN(auto tasks, TasksOfShapeVariants(sources, target, chosen.fuse_residuals));
  for (const ModelSource& source : sources) {
    if (!chosen.groups) break;
    constexpr double kMinShare = 0.005;  // of the network's time
    TW_ASSIGN_OR_RETURN(auto more, GroupTasksOfFile(templates, source, target, kMinShare));
    for (search::TuneTask& task : more) {
      const bool known = std::ranges::any_of(tasks, [&](const search::TuneTask& other) {
        return other.task.workload == task.task.workload;
      });
      if (!known) tasks.push_back(std::move(task));
    }
  }
  if (DeviceTraitsOf(target).has_host_fallback) {
    settings.target = target.ToString();  // includes the design itself
    AssignToHost(templates, tasks, note);
    if (tasks.empty()) return Unsupported(settings.graph + ": no task for " + target.kind_name());
  }
  return tasks;
}

}  // namespace tilewright::session
