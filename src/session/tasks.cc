// Tasks and configs as users name them. A text is parsed as a workload key, an AutoTVM tuple, an
// expression file, and FILE or FILE#N, in this order.

#include "src/session/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/base/text/plural.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/block_kernels.h"
#include "src/compiler/plan/group_tasks.h"
#include "src/graph/partition/partition.h"
#include "src/graph/partition/tasks.h"
#include "src/session/names.h"
#include "src/session/text_table.h"
#include "src/target/device.h"
#include "src/templates/template_keys.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright::session {

Status CheckUnused(const LoadOptions& options, std::string_view why) {
  std::vector<std::string> given = options.bindings.Options();
  if (options.requantize == Requantize::kByIntegers) given.emplace_back("--requantize integer");
  if (options.precision == Precision::kAsBFloat16) given.emplace_back("--precision bfloat16");
  return given.empty() ? Status() : InvalidArgument(given.front() + ": " + std::string(why));
}

namespace {

constexpr std::string_view kNoFile = "the task is not a model file";

/// Task of an expression file or a workload key; none for other texts.
Result<std::optional<search::TuneTask>> TaskOfText(const ModelSource& source,
                                                   const Target& target) {
  const std::string& text = source.path;
  std::optional<search::TuneTask> task;
  if (text.ends_with(".tw")) {
    TW_RETURN_IF_ERROR(CheckUnused(source.options, kNoFile));
    constexpr auto kMaxBytes = static_cast<std::int64_t>(kMaxExpressionBytes);
    TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(text, kMaxBytes));
    TW_ASSIGN_OR_RETURN(auto expression, ParseExpression(bytes, text));
    Workload workload = Workload::FromExpression(expression);
    if (const auto type = workload.OutputType(); !type.ok()) return type.status().WithContext(text);
    task = search::TuneTask{
        {std::move(workload), target}, {}, 1, {}, ExpressionName(text, expression)};
  } else if (auto workload = Workload::Parse(text); workload.ok()) {
    TW_RETURN_IF_ERROR(CheckUnused(source.options, kNoFile));
    task = search::TuneTask{{*std::move(workload), target}, {}, 1};
  }
  return task;
}

/// Returns the tasks to tune, or the one with a number. file: for messages.
Result<std::vector<search::TuneTask>> TuneTasksOf(std::vector<ExtractedTask> extracted,
                                                  const std::string& file, std::int64_t only,
                                                  const Target& target) {
  const auto count = static_cast<std::int64_t>(extracted.size());
  if (only >= count) {
    return InvalidArgument(
        fmt::format("{}: task {} asked for, the file has {}", file, only, count));
  }
  std::vector<search::TuneTask> tasks;
  for (std::int64_t i = 0; i < count; ++i) {
    if (only >= 0 && i != only) continue;
    ExtractedTask& task = extracted[static_cast<std::size_t>(i)];
    const std::int64_t occurrences = task.occurrences();
    tasks.push_back({{std::move(task.workload), target}, std::move(task.epilogue), occurrences});
  }
  return tasks;
}

/// Tasks of a model file, or the one that `#N` after its name selects.
Result<std::vector<search::TuneTask>> TasksOfModel(const ModelSource& source, const Target& target,
                                                   bool fuse_residuals) {
  const auto [file, only] = SplitNumber(source.path);
  auto graph = LoadGraph(file, source.options);
  TW_RETURN_IF_ERROR(graph);
  const PartitionRule rule = PartitionRuleFor(target, fuse_residuals);
  graph = UnfusedOperators(*std::move(graph), rule);
  TW_RETURN_IF_ERROR(graph);
  TW_ASSIGN_OR_RETURN(auto extracted, ExtractTasks(*graph, rule));
  return TuneTasksOf(std::move(extracted), file, only, target);
}

/// Returns the task of a file with one task.
/// Errors: kInvalidArgument that lists the tasks and how to name one.
Result<search::TuneTask> OnlyTaskOf(const ModelSource& source, const Target& target,
                                    bool fuse_residuals) {
  TW_ASSIGN_OR_RETURN(auto tasks, TasksOfModel(source, target, fuse_residuals));
  if (tasks.size() == 1) return std::move(tasks.front());
  if (tasks.empty()) return InvalidArgument(source.path + " has no tasks");
  const std::vector<std::string> names = DistinctNames(tasks);
  std::string list;
  for (std::size_t i = 0; i < tasks.size(); ++i) list += fmt::format("\n  {:>3}  {}", i, names[i]);
  return InvalidArgument(fmt::format("{} has {} tasks; name one: --task N, or FILE#N{}",
                                     source.path, tasks.size(), list));
}

}  // namespace

Result<std::vector<search::TuneTask>> TasksOfFile(const ModelSource& source, const Target& target,
                                                  bool fuse_residuals) {
  TW_ASSIGN_OR_RETURN(auto task, TaskOfText(source, target));
  if (task) return std::vector<search::TuneTask>{*std::move(task)};
  return TasksOfModel(source, target, fuse_residuals);
}

Result<search::TuneTask> ParseTask(const ModelSource& source, const Target& target,
                                   bool fuse_residuals) {
  const std::string& text = source.path;
  TW_ASSIGN_OR_RETURN(auto task, TaskOfText(source, target));
  if (task) return *std::move(task);
  if (text.starts_with('(')) {
    TW_ASSIGN_OR_RETURN(auto tuple, records::ParseAutotvmTuple(text));
    TW_RETURN_IF_ERROR(CheckUnused(source.options, kNoFile));
    return search::TuneTask{{std::move(tuple), target}, {}, 1};
  }
  if (text.find('#') == std::string::npos) {
    if (FileExists(text)) return OnlyTaskOf(source, target, fuse_residuals);
    return InvalidArgument("'" + text +
                           "' is not a task: " + Workload::Parse(text).status().message() +
                           "; expected a workload key, an AutoTVM tuple, FILE#N, or FILE.tw");
  }
  TW_ASSIGN_OR_RETURN(auto tasks, TasksOfModel(source, target, fuse_residuals));
  if (tasks.size() != 1) {
    return InvalidArgument("'" + text + "' does not name one task, expected FILE#N");
  }
  return std::move(tasks.front());
}

Result<std::vector<search::TuneTask>> ParseTasks(const ModelSource& source, const Target& target,
                                                 bool fuse_residuals) {
  if (source.path.find('(') == std::string::npos) {  // neither a key nor a tuple
    return TasksOfFile(source, target, fuse_residuals);
  }
  TW_ASSIGN_OR_RETURN(auto task, ParseTask(source, target, fuse_residuals));
  return std::vector<search::TuneTask>{std::move(task)};
}

Result<std::vector<search::TuneTask>> TasksOfShapeVariants(std::span<const ModelSource> sources,
                                                           const Target& target,
                                                           bool fuse_residuals) {
  std::vector<search::TuneTask> all;
  for (const ModelSource& source : sources) {
    TW_ASSIGN_OR_RETURN(auto tasks, TasksOfFile(source, target, fuse_residuals));
    for (search::TuneTask& task : tasks) {
      const auto known = std::ranges::find_if(all, [&](const search::TuneTask& other) {
        return other.task.workload == task.task.workload && other.epilogue == task.epilogue;
      });
      if (known != all.end()) {
        known->occurrences += task.occurrences;
      } else {
        all.push_back(std::move(task));
      }
    }
  }
  return all;
}

Result<std::vector<search::TuneTask>> GroupTasksOfFile(const TemplateRegistry& templates,
                                                       const ModelSource& source,
                                                       const Target& target, double min_share,
                                                       std::vector<double>* shares) {
  TW_ASSIGN_OR_RETURN(auto graph, LoadGraph(source));
  SeedConstants(graph, SeedRule::kMissing);
  CompileOptions options;
  options.templates = &templates;
  options.target = target;
  double all_seconds = 0;
  TW_ASSIGN_OR_RETURN(auto network, Partition(std::move(graph), target, options.fuse_residuals));
  TW_ASSIGN_OR_RETURN(auto groups, TasksOfGroups(std::move(network), options, &all_seconds));
  std::ranges::stable_sort(groups, std::greater(), &GroupUses::seconds);
  std::vector<search::TuneTask> tasks;
  for (GroupUses& uses : groups) {
    const double share = all_seconds > 0 ? uses.seconds / all_seconds : 0;
    if (share < min_share) continue;
    if (shares != nullptr) shares->push_back(share);
    const auto count = static_cast<std::int64_t>(uses.values.size());
    tasks.push_back({{std::move(uses.workload), target}, {}, count});
  }
  return tasks;
}

Status CheckRangeTarget(const SizeRange& range, const Target& target) {
  if (DeviceTraitsOf(target).machine_code) return Status();
  return Unsupported("--dim " + range.ToString() + ": a range is for CPUs, expected one size");
}

Result<OpenDimension> OpenDimensionOf(const ModelOptions& model, const std::string& file,
                                      const SizeRange& range, const Target& target) {
  const auto load = [](const Result<ModelSource>& source) -> Result<Graph> {
    TW_RETURN_IF_ERROR(source);
    TW_ASSIGN_OR_RETURN(auto graph, LoadGraph(*source));
    SeedConstants(graph, SeedRule::kMissing);
    return graph;
  };
  const auto read = [&](std::int64_t size) { return load(model.SourceAt(file, range, size)); };
  TW_ASSIGN_OR_RETURN(const Graph entry, load(model.Source(file)));
  CompileOptions options;
  options.target = target;
  return FindOpenDimension(entry, read, range, options);
}

Result<std::optional<std::vector<ExtractedTask>>> PositionTasks(const ModelOptions& model,
                                                                const std::string& file,
                                                                const SizeRange& range,
                                                                const Target& target) {
  if (!DeviceTraitsOf(target).machine_code) return std::optional<std::vector<ExtractedTask>>();
  TW_ASSIGN_OR_RETURN(const auto open, OpenDimensionOf(model, file, range, target));
  if (open.positions == nullptr) return std::optional<std::vector<ExtractedTask>>();
  TW_ASSIGN_OR_RETURN(const auto block, open.positions->Block(open.positions->LargeUnit()));
  TW_ASSIGN_OR_RETURN(auto tasks, ExtractTasks(block));
  return std::optional(std::move(tasks));
}

Status UseRange(const ModelOptions& model, const std::string& file, const SizeRange& range,
                const Target& target, std::vector<search::TuneTask>& tasks) {
  const auto [path, only] = SplitNumber(file);
  TW_ASSIGN_OR_RETURN(auto of_positions, PositionTasks(model, path, range, target));
  if (of_positions) {
    TW_ASSIGN_OR_RETURN(tasks, TuneTasksOf(*std::move(of_positions), path, only, target));
  } else {
    UseRangeOfEntries(range, tasks);
  }
  return Status();
}

void UseRangeOfEntries(const SizeRange& range, std::vector<search::TuneTask>& tasks) {
  const std::vector<WeighedSize> sizes = SizesToTune(range);
  std::vector<search::TuneTask> all;
  for (const search::TuneTask& task : tasks) {
    const std::vector<Workload> workloads = RangeWorkloads(task.task.workload, range);
    const bool of_sizes =
        workloads.size() == sizes.size() && workloads != std::vector{task.task.workload};
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      const auto known = std::ranges::find_if(all, [&](const search::TuneTask& other) {
        return other.task.workload == workloads[i] && other.epilogue == task.epilogue;
      });
      if (known != all.end()) {
        known->occurrences += task.occurrences;
        continue;
      }
      all.push_back(task);
      all.back().task.workload = workloads[i];
      if (of_sizes) all.back().weight = sizes[i].weight;
    }
  }
  tasks = std::move(all);
}

Result<std::vector<ExtractedTask>> TasksOfRange(const ModelOptions& model, const std::string& file,
                                                const SizeRange& range, const Target& target,
                                                std::span<const ExtractedTask> tasks) {
  TW_ASSIGN_OR_RETURN(auto of_positions, PositionTasks(model, file, range, target));
  if (of_positions) return *std::move(of_positions);
  std::vector<ExtractedTask> all;
  for (const ExtractedTask& task : tasks) {
    for (Workload& workload : RangeWorkloads(task.workload, range)) {
      all.push_back(task);
      all.back().workload = std::move(workload);
    }
  }
  return all;
}

void AssignToHost(const TemplateRegistry& templates, std::vector<search::TuneTask>& tasks,
                  const NoteSink& note) {
  const std::vector<std::string> names = DistinctNames(tasks);
  std::vector<std::string> left;
  std::vector<search::TuneTask> kept;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    search::TuneTask& task = tasks[i];
    if (templates.For(task.task.workload, task.task.target).empty()) {
      left.push_back(Printable(names[i]));
    } else {
      kept.push_back(std::move(task));
    }
  }
  tasks = std::move(kept);
  if (left.empty()) return;
  const std::string list = NameLines(left, 3);
  note(FormatPrintable("left to the host: {}:\n{}", Counted(std::ssize(left), "task"),
                       MultilineText{list}));
}

Result<Config> ParseConfig(const std::string& text) {
  const auto json = ParseJson(text);
  const bool values_only = json.ok() && json->is_object() && !json->contains("values");
  return Config::Parse(values_only ? R"({"index":0,"values":)" + text + "}" : text);
}

Result<ChosenConfig> ChooseConfig(const TemplateRegistry& templates, const Task& task,
                                  const std::string& key, const std::string& config) {
  ChosenConfig chosen;
  if (key.empty()) {
    const auto entries = templates.For(task.workload, task.target);
    if (entries.empty()) {
      const bool says_why = DeviceTraitsOf(task.target).has_host_fallback;
      return Unsupported(
          "no template serves " + task.workload.Key() + " on " + task.target.ToString() +
          (says_why ? ": " + VtaRefusalOf(templates, task.workload, task.target) : ""));
    }
    chosen.entry = entries.front();
  } else {
    chosen.entry = templates.Find(key);
    if (chosen.entry == nullptr) {
      if (IsScheduleTextKey(key))
        return InvalidArgument(TemplateUnavailableReason(templates, key, 1));
      std::string known;
      for (const TemplateEntry& entry : templates.all()) known += " " + std::string(entry.key);
      return InvalidArgument("no template '" + key + "', expected one of:" + known);
    }
    if (auto why = chosen.entry->refuses(task.workload, task.target); !why.empty()) {
      return InvalidArgument(key + " does not serve " + task.workload.Key() + ": " + why);
    }
  }
  TW_ASSIGN_OR_RETURN(chosen.space, chosen.entry->define_space(task.workload, task.target));
  if (config.empty()) {
    TW_ASSIGN_OR_RETURN(chosen.config, chosen.entry->default_config(task.workload, task.target));
  } else if (auto index = ParseInt64(config); index.ok()) {
    if (*index < 0 || *index >= chosen.space.size()) {
      return InvalidArgument(
          fmt::format("config {}, expected 0 to {}", *index, chosen.space.size() - 1));
    }
    chosen.config = chosen.space.At(*index);
  } else {
    TW_ASSIGN_OR_RETURN(auto values, ParseConfig(config));
    TW_ASSIGN_OR_RETURN(chosen.config, chosen.space.Locate(values));
  }
  return chosen;
}

}  // namespace tilewright::session
