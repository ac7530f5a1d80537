#include "measure/program/build_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/hash.h"

namespace tilewright::measure {
namespace {

constexpr int kBuildPriority = 10;  // a run in progress comes first

void AddVariable(const std::string& name, const KnobValue& value, std::vector<std::string>& all) {
  all.push_back("TILEWRIGHT_" + name + "=" + ValueText(value));
}

/// Appends the variables of all commands of a config.
void AddCommonVariables(const OpenTask& task, const Config& config, const std::string& out,
                        std::vector<std::string>& all) {
  all.push_back("TILEWRIGHT_OUT=" + out);
  for (const auto& [name, value] : task.environment) {
    all.push_back(name + "=" + ExpandWord(value, config, out));
  }
}

}  // namespace

std::vector<std::string> EnvironmentOf(const OpenTask& task, const Config& config,
                                       const std::string& out) {
  std::vector<std::string> all;
  for (const auto& [name, value] : config.values) AddVariable(name, value, all);
  all.push_back("TILEWRIGHT_CONFIG=" + ConfigJson(task, config));
  AddCommonVariables(task, config, out, all);
  return all;
}

std::vector<std::string> BuildCache::BuildEnvironment(const Config& config,
                                                      const std::string& out) const {
  // The build depends on all parameters if it has the config on standard input, or if its words
  // name none, so that it reads them from its environment.
  if (task_.input == OpenInput::kJson || named_.empty()) return EnvironmentOf(task_, config, out);
  std::vector<std::string> all;
  for (const auto& [name, value] : config.values) {
    if (named_.contains(name)) AddVariable(name, value, all);
  }
  AddCommonVariables(task_, config, out, all);
  return all;
}

std::string BuildCache::NameOf(const Config& config) const {
  const std::string marker = "{out}";
  std::string text;
  for (const std::string& word : ExpandWords(task_, task_.build, config, marker)) {
    text += word + '\0';
  }
  for (const std::string& variable : BuildEnvironment(config, marker)) text += variable + '\0';
  return HexOf(Fnv1a64(text)) + HexOf(Mix64(Fnv1a64(text + "2")));
}

ProgramBuild BuildCache::Get(const Config& config) {
  if (task_.build.empty()) return {};
  const std::string name = NameOf(config);
  std::shared_ptr<Entry> entry;
  {
    std::unique_lock lock(mutex_);
    std::shared_ptr<Entry>& known = entries_[name];
    if (known != nullptr) {
      entry = known;
      built_.wait(lock, [&] { return entry->done; });
      return entry->result;
    }
    entry = known = std::make_shared<Entry>();
  }
  ProgramBuild result = Build(config, folder_ + "/" + name);
  result.command.output.clear();
  if (result.ok()) result.command.error.clear();
  const std::lock_guard lock(mutex_);
  entry->result = result;
  entry->result.command.seconds = 0;  // a second config does not build it again
  entry->done = true;
  const CommandEnd end = result.command.end;
  if (end == CommandEnd::kNoResource || end == CommandEnd::kStopped) entries_.erase(name);
  built_.notify_all();
  return result;
}

ProgramBuild BuildCache::Build(const Config& config, const std::string& folder) const {
  ProgramBuild result;
  result.out = folder + "/out";
  std::error_code failed;
  std::filesystem::create_directories(folder + "/tmp", failed);
  if (failed) {
    result.command.end = CommandEnd::kNoResource;
    result.command.problem = folder + ": " + failed.message();
    return result;
  }
  CommandSpec spec;
  spec.words = ExpandWords(task_, task_.build, config, result.out);
  spec.environment = BuildEnvironment(config, result.out);
  if (task_.input == OpenInput::kJson) spec.input = ConfigJson(task_, config) + "\n";
  spec.scratch = folder + "/tmp";
  spec.limits = limits_;
  spec.cores = cores_;
  spec.priority = kBuildPriority;
  spec.stop = stop_;
  result.command = RunCommand(spec);
  std::filesystem::remove_all(result.ok() ? spec.scratch : folder, failed);
  return result;
}

}  // namespace tilewright::measure
