// Targets, tasks and configs as a command line spells them. A text is tried as a workload key, a
// tuple of AutoTVM, and FILE#N, in this order; what none of them understands is refused with all
// three.

#include "python_free_cli/arguments/task_argument.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <thread>

#include "python_free_cli/device_support.h"
#include "python_free_cli/print.h"
#include "python_free_cli/tune_display.h"
#include "python_free_cli/usage.h"
#include "python_free_cli/user_paths.h"
#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/group_tasks.h"
#include "src/graph/ir/graph.h"
#include "src/graph/partition/partition.h"
#include "src/graph/partition/tasks.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/target/presets.h"
#include "src/templates/text/schedule_text.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright::cli {

namespace {

/// Errors: kInvalidArgument for a library nobody knows.
Status CheckLibraries(const Target& target) {
  for (const std::string& name : LibrariesOf(target)) {
    const KernelLibrary* library = FindLibrary(name);
    if (library == nullptr) {
      std::string known;
      for (const KernelLibrary& one : KernelLibraries()) known += " " + std::string(one.name);
      return InvalidArgument("--libs: no library '" + name + "', expected some of:" + known);
    }
    if (library->target_kind != target.kind_name()) {
      return InvalidArgument(fmt::format("--libs: {} is for targets of kind {}, not {}", name,
                                         library->target_kind, target.kind_name()));
    }
    if (const auto version = LibraryVersion(*library); !version.ok()) {
      PrintErr("{}; kernels that call it are left out\n", version.status().message());
    }
  }
  return {};
}

/// A text that is no target, which may have been meant to be a board.
Status UnknownTarget(std::string_view text, const Status& why) {
  const std::string boards = BoardNames();
  if (boards.empty() || Trim(text).find_first_of(" {-=") != std::string_view::npos) return why;
  std::vector<std::string> known = {"native"};
  for (const DeviceTraits& device : AllDevices()) known.emplace_back(device.name);
  for (const std::string& board : Split(boards, ',')) known.emplace_back(Trim(board));
  return InvalidArgument(why.message() + ", or a board: " + boards + DidYouMean(text, known));
}

}  // namespace

Result<vta::Design> ReadDesign(const std::string& vta_config) {
  std::string path = vta_config;
  if (!FileExists(path) && path.find_first_of("/.") == std::string::npos) {
    path = ShippedPath("vta/" + vta_config + ".json");
    if (path.empty()) {
      return NotFound("--vta-config: " + vta_config + ": no such file, and no design of this name");
    }
  }
  constexpr std::int64_t kMaxBytes = 1 << 20;  // a design has a few hundred
  auto text = ReadFile(path, kMaxBytes);
  if (!text.ok()) return text.status().WithContext("--vta-config");
  auto design = vta::Design::Parse(*text, path);
  if (!design.ok()) return design.status().WithContext("--vta-config");
  return design;
}

Result<Target> ParseTarget(std::string_view text, int threads, const std::string& vta_config,
                           const std::string& libraries) {
  TW_ASSIGN_OR_RETURN(auto expanded, ExpandTarget(text, ShippedPath("targets")));
  auto target = Target::Parse(expanded);
  if (!target.ok()) return UnknownTarget(text, target.status()).WithContext("--target");
  if (threads < 1)
    return InvalidArgument(fmt::format("--threads: {}, expected 1 or more", threads));
  if (threads > 1 && !DeviceTraitsOf(*target).machine_code) {
    return InvalidArgument(fmt::format("--threads: {}, but only kernels for a CPU have any, not {}",
                                       threads, target->kind_name()));
  }
  constexpr int kMaxThreads = 1024;  // of the pool of compiled code
  if (threads > kMaxThreads) {
    return InvalidArgument(fmt::format("--threads: {}, expected 1 to {}", threads, kMaxThreads));
  }
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  if (text == "native" && cores > 0 && threads > cores) {
    PrintErr("--threads: {}, but this machine has {} processors\n", threads, cores);
  }
  if (threads > 1) target->SetOption("num-threads", std::to_string(threads));
  if (!libraries.empty()) target->SetOption("libs", libraries);
  TW_RETURN_IF_ERROR(CheckLibraries(*target));
  const DeviceSupport* device = DeviceSupportOf(*target);
  if (!vta_config.empty() && (device == nullptr || !device->takes_design)) {
    return InvalidArgument("--vta-config: the target is '" + target->kind_name() + "', no VTA");
  }
  if (device == nullptr) {
    std::string known = "native";
    for (const DeviceTraits& one : AllDevices()) known += " " + std::string(one.name);
    return Unsupported("--target: no code can be generated for '" + target->kind_name() +
                       "', expected one of: " + known);
  }
  TW_RETURN_IF_ERROR(device->complete(vta_config, *target));
  return target;
}

Status CheckResiduals(const Target& target, bool no_fuse_residuals) {
  if (!no_fuse_residuals || DeviceTraitsOf(target).has_host_fallback) return {};
  return InvalidArgument("--no-fuse-residuals: the target is '" + target.kind_name() +
                         "', expected a VTA");
}

Result<std::vector<search::TuneTask>> TasksOfFile(const ModelSource& source, const Target& target,
                                                  bool fuse_residuals) {
  const std::string& path = source.path;
  if (path.ends_with(".tw") || Workload::Parse(path).ok()) {
    TW_ASSIGN_OR_RETURN(auto task, ParseTask(source, target, fuse_residuals));
    return std::vector<search::TuneTask>{std::move(task)};
  }
  std::string file = path;
  std::int64_t only = -1;
  if (const auto hash = path.rfind('#'); hash != std::string::npos) {
    if (auto number = ParseInt64(path.substr(hash + 1)); number.ok()) {
      only = *number;
      file = path.substr(0, hash);
    }
  }
  auto graph = LoadGraph(file, source.options);
  TW_RETURN_IF_ERROR(graph);
  const PartitionRule rule = PartitionRuleFor(target, fuse_residuals);
  graph = UnfusedOperators(*std::move(graph), rule);
  TW_RETURN_IF_ERROR(graph);
  TW_ASSIGN_OR_RETURN(auto extracted, ExtractTasks(*graph, rule.fuse));
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

void AssignToHost(const TemplateRegistry& templates, std::vector<search::TuneTask>& tasks) {
  std::erase_if(tasks, [&templates](const search::TuneTask& task) {
    const bool host = templates.For(task.task.workload, task.task.target).empty();
    if (host) PrintErr("left to the host: {}\n", ShortName(task.task.workload));
    return host;
  });
}

Result<search::TuneTask> ParseTask(const ModelSource& source, const Target& target,
                                   bool fuse_residuals) {
  const std::string& text = source.path;
  constexpr std::string_view kNoFile = "the task is no model file";
  if (text.ends_with(".tw")) {
    TW_RETURN_IF_ERROR(CheckUnused(source.options, kNoFile));
    constexpr auto kMaxBytes = static_cast<std::int64_t>(kMaxExpressionBytes);
    TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(text, kMaxBytes));
    TW_ASSIGN_OR_RETURN(auto expression, ParseExpression(bytes, text));
    Workload workload = Workload::FromExpression(expression);
    if (const auto type = workload.OutputType(); !type.ok()) return type.status().WithContext(text);
    return search::TuneTask{{std::move(workload), target}, {}, 1};
  }
  if (auto workload = Workload::Parse(text); workload.ok()) {
    TW_RETURN_IF_ERROR(CheckUnused(source.options, kNoFile));
    return search::TuneTask{{std::move(*workload), target}, {}, 1};
  } else if (!text.empty() && text.front() == '(') {
    TW_ASSIGN_OR_RETURN(auto tuple, records::ParseAutotvmTuple(text));
    TW_RETURN_IF_ERROR(CheckUnused(source.options, kNoFile));
    return search::TuneTask{{std::move(tuple), target}, {}, 1};
  } else if (text.find('#') == std::string::npos) {
    return InvalidArgument("'" + text + "' is no task: " + workload.status().message() +
                           "; expected a workload key, an AutoTVM tuple, FILE#N, or FILE.tw");
  }
  TW_ASSIGN_OR_RETURN(auto tasks, TasksOfFile(source, target, fuse_residuals));
  if (tasks.size() != 1) {
    return InvalidArgument("'" + text + "' does not name one task, expected FILE#N");
  }
  return std::move(tasks.front());
}

Result<std::vector<search::TuneTask>> ParseTasks(const ModelSource& source, const Target& target,
                                                 bool fuse_residuals) {
  auto one = ParseTask(source, target, fuse_residuals);
  if (one.ok()) return std::vector<search::TuneTask>{*std::move(one)};
  if (source.path.find('(') != std::string::npos || source.path.ends_with(".tw")) {
    return one.status();
  }
  return TasksOfFile(source, target, fuse_residuals);
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

void TargetArguments::Declare(CLI::App& app) {
  app.add_option("--target", target,
                 "What code is generated for: native, a board, or a target string")
      ->capture_default_str();
  app.add_option("--threads", threads, "Threads a kernel may use")->capture_default_str();
  app.add_option("--libs", libraries,
                 "Libraries whose functions may take the place of kernels: dnnl; cudnn,cublas");
  app.add_option("--vta-config", vta_config,
                 "Design of a VTA target: a file, or sim, pynq, ultra96, … (configs/vta)");
}

Result<Target> TargetArguments::Parse() const {
  TW_ASSIGN_OR_RETURN(auto parsed, ParseTarget(target, threads, vta_config, libraries));
  TW_RETURN_IF_ERROR(CheckResiduals(parsed, no_fuse_residuals));
  return parsed;
}

void TargetArguments::DeclareWithResiduals(CLI::App& app) {
  Declare(app);
  app.add_flag("--no-fuse-residuals", no_fuse_residuals,
               "On a VTA, additions of residuals are tasks of their own");
}

void CandidateArguments::Declare(CLI::App& app) {
  app.add_option("--config", config,
                 "Config index, or JSON of its values (default: the default config)");
  app.add_option("--template", template_key, "Template key (default: the preferred one)");
  app.add_option("--epilogue", epilogue, "Epilogue to fuse (default: the task's own)");
  target.DeclareWithResiduals(app);
  model.Declare(app);
}

Result<CandidateArguments::Parsed> CandidateArguments::Parse(
    const TemplateRegistry& templates) const {
  TW_ASSIGN_OR_RETURN(auto parsed_target, target.Parse());
  TW_ASSIGN_OR_RETURN(auto source, model.Source(task));
  TW_ASSIGN_OR_RETURN(auto parsed_task,
                      ParseTask(source, parsed_target, !target.no_fuse_residuals));
  if (!epilogue.empty()) {
    auto parsed = Epilogue::Parse(epilogue);
    if (!parsed.ok()) return parsed.status().WithContext("--epilogue");
    parsed_task.epilogue = std::move(*parsed);
  }
  TW_ASSIGN_OR_RETURN(auto chosen, ChooseConfig(templates, parsed_task.task, template_key, config));
  return Parsed{std::move(parsed_task), std::move(chosen)};
}

}  // namespace tilewright::cli
