#include "src/session/open_task.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <utility>

#include "src/base/shell/split.h"
#include "src/templates/open/open_template.h"
#include "src/templates/open/space_text.h"
#include "src/tensor/open_workload.h"

namespace tilewright::session {
namespace {

/// Returns the characters of a text that names of open tasks can have.
std::string NameFrom(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kMaxOpenName)) {
    name += IsOpenName(std::string_view(&c, 1)) ? c : '_';
  }
  return name;
}

/// Returns the words of a command; a shell gets its text as one word.
Result<std::vector<std::string>> WordsOf(const std::string& text, bool shell, const char* option) {
  if (text.empty()) return std::vector<std::string>();
  if (shell) return std::vector<std::string>{text};
  auto words = SplitCommandLine(text);
  if (!words.ok()) return words.status().WithContext(option);
  return words;
}

Result<OpenInput> ParseInput(const std::string& text) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "json", "server"};
  const auto* found = std::ranges::find(kNames, text);
  if (found != kNames.end()) return static_cast<OpenInput>(found - kNames.begin());
  return InvalidArgument("--input: '" + text + "', expected none, json or server");
}

std::string NameWithProblem(const OpenTask& task) {
  return task.name + " " + ProblemText(task.problem);
}

}  // namespace

Result<OpenTask> LoadOpenTask(const OpenTaskTexts& texts) {
  OpenTaskParts parts;
  if (texts.command.empty()) return InvalidArgument("--space: expected --command with it");
  TW_ASSIGN_OR_RETURN(parts.space, LoadOpenSpace(texts.space));
  parts.name = !texts.name.empty() ? texts.name
               : !parts.space.name().empty()
                   ? NameFrom(parts.space.name())
                   : NameFrom(std::filesystem::path(texts.space).stem().string());
  parts.shell = texts.shell;
  TW_ASSIGN_OR_RETURN(parts.command, WordsOf(texts.command, texts.shell, "--command"));
  TW_ASSIGN_OR_RETURN(parts.build, WordsOf(texts.build, texts.shell, "--build"));
  TW_ASSIGN_OR_RETURN(parts.check, WordsOf(texts.check, texts.shell, "--check"));
  TW_ASSIGN_OR_RETURN(parts.input, ParseInput(texts.input));
  for (const std::string& variable : texts.environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos) {
      return InvalidArgument("--env: '" + variable + "', expected NAME=VALUE");
    }
    parts.environment.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  if (!texts.metrics.empty()) parts.metrics = texts.metrics;
  return MakeOpenTask(std::move(parts));
}

OpenTaskTexts TakeOpenTaskTexts(search::JobSettings& settings) {
  OpenTaskTexts texts;
  const search::JobSettings none;
  const auto take = [&settings, &none](auto member, auto& to) {
    to = std::exchange(settings.*member, none.*member);
  };
  take(&search::JobSettings::space, texts.space);
  take(&search::JobSettings::name, texts.name);
  take(&search::JobSettings::command, texts.command);
  take(&search::JobSettings::build, texts.build);
  take(&search::JobSettings::check, texts.check);
  take(&search::JobSettings::shell, texts.shell);
  take(&search::JobSettings::input, texts.input);
  take(&search::JobSettings::env, texts.environment);
  texts.metrics = settings.metric;
  return texts;
}

Result<OpenTaskOfJob> LoadOpenTaskOfJob(const search::StrategyRegistry& strategies,
                                        const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto settings, search::LoadJobSettings(strategies, path));
  if (settings.space.empty()) {
    return InvalidArgument(path + ": expected \"space\" and \"command\" of a program");
  }
  auto task = LoadOpenTask(TakeOpenTaskTexts(settings));
  if (!task.ok()) return task.status().WithContext(path);
  return OpenTaskOfJob{*std::move(task), settings.time_limit, settings.build_limit,
                       settings.environment};
}

Result<OpenJob> MakeOpenJob(OpenTask task, const TemplateRegistry& templates,
                            search::JobSettings& settings) {
  OpenJob job;
  const std::string key = task.key, name = task.name;
  settings.target = task.target().ToString();
  settings.graph = task.workload.Key();
  settings.metric = task.metrics.size() > 1 ? task.metrics : std::vector<std::string>();
  job.tasks.push_back({{task.workload, task.target()}, {}, 1, {}, name});
  job.templates = templates;
  TW_RETURN_IF_ERROR(AddOpenTask(job.templates, std::move(task)));
  job.task = job.templates.Find(key)->open;
  return job;
}

Result<const OpenTask*> FindOpenTask(const TemplateRegistry& templates, std::string_view text) {
  std::map<std::string, const OpenTask*> found;  // by the task's key; spaces may differ
  for (const TemplateEntry& entry : templates.all()) {
    const OpenTask* task = entry.open;
    if (task == nullptr) continue;
    const std::string key = task->workload.Key();
    if (key == text || task->name == text || NameWithProblem(*task) == text) found[key] = task;
  }
  if (found.empty()) return static_cast<const OpenTask*>(nullptr);
  if (found.size() == 1) return found.begin()->second;
  std::string keys;
  for (const auto& [key, task] : found) {
    keys += "\n  " + key;
    if (!task->problem.empty()) keys += ", '" + NameWithProblem(*task) + "'";
  }
  return InvalidArgument("'" + std::string(text) + "' names " + std::to_string(found.size()) +
                         " open tasks; name one by its key:" + keys);
}

}  // namespace tilewright::session
