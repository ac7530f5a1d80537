// Reads the results of one task on each device from stores, and finds devices by name.
#include "records/devices/device_results.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "records/front/front.h"
#include "records/row.h"
#include "records/sqlite.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/target/short_target.h"
#include "src/templates/open/environment.h"
#include "src/templates/template_keys.h"
#include "src/tensor/open_workload.h"

namespace tilewright::records {
namespace {

/// Measurement of a config that counts.
struct Counted {
  bool ok = false;
  double value = std::numeric_limits<double>::infinity();
  std::int64_t attempt = 0;
  double finished = 0;
};
struct CountedDevice {
  std::vector<std::string> names;          // of an environment
  std::map<std::string, Counted> configs;  // by their text
};
/// By model of the device and text of the target.
using CountedByDevice = std::map<std::pair<std::string, std::string>, CountedDevice>;

/// Whether the outcome is one of the config on the device, not of the measurement.
bool IsOfConfig(const Trial& trial) {
  return trial.outcome == Outcome::kOk ? trial.verified : trial.outcome != Outcome::kDeviceLost;
}

/// Counts a trial, unless another measurement of its config counts more: a success counts more than
/// a failure.
void CountTrial(const Trial& trial, CountedByDevice& all) {
  const Candidate& candidate = trial.candidate;
  Counted one{trial.outcome == Outcome::kOk, std::numeric_limits<double>::infinity(), trial.attempt,
              trial.finished_unix_seconds};
  if (one.ok) one.value = trial.value;
  auto& device = all[{trial.device.model, candidate.task.target.ToString()}];
  if (device.configs.empty()) {
    for (const auto& [field, value] : EnvironmentFields(trial.device)) {
      device.names.insert(device.names.end(), {value, field + "=" + value});
    }
  }
  const auto [place, added] =
      device.configs.try_emplace(ConfigText(candidate.template_key, candidate.config), one);
  Counted& other = place->second;
  if (added || one.ok < other.ok) return;
  if (one.ok > other.ok || Supersedes(one.attempt, one.finished, other.attempt, other.finished)) {
    other = one;
  }
}

bool IsNamed(const Target& target, std::string_view name) {
  return target.ToString() == name || ShortTargetText(target) == name ||
         target.Option("model") == name || target.Option("mcpu") == name;
}

/// Returns the number that a text has in place of each "?" of a pattern; none if it does not match.
std::optional<std::int64_t> SizeIn(std::string_view pattern, std::string_view text) {
  std::optional<std::int64_t> size;
  for (const char c : pattern) {
    if (c != '?') {
      if (text.empty() || text.front() != c) return std::nullopt;
      text.remove_prefix(1);
      continue;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || (size && *size != number)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    size = number;
  }
  return text.empty() ? size : std::nullopt;
}

/// Returns the model of this machine for "here", else the name.
std::string ModelIfHere(std::string_view name) {
  return name == "here" ? ProbeHostCpu().model : std::string(name);
}

}  // namespace

std::string ConfigText(std::string_view template_key, const Config& config) {
  Json values = Json::object();
  if (const auto parsed = ParseJson(config.ValuesText()); parsed.ok()) {
    std::map<std::string, Json> sorted;
    for (const auto& [name, value] : parsed->items()) sorted[name] = value;
    for (auto& [name, value] : sorted) values[name] = std::move(value);
  }
  const std::string prefix = IsOpenTaskKey(template_key) ? "" : std::string(template_key) + " ";
  return prefix + DumpJson(values);
}

std::string TaskResults::Device::FullName() const {
  return (model.empty() ? "any device" : model) + ": " + target;
}

std::string TaskResults::NamesOf(std::span<const Device* const> devices) const {
  std::string names;
  for (const Device* device : devices) names += "\n  " + device->FullName();
  return names;
}

Result<TaskResults> TaskResults::Read(Catalog& catalog, const TemplateRegistry& templates,
                                      const Workload& workload, std::string_view metric) {
  const EachStore stores = [&](const auto& visit) { return catalog.ForEachStore(visit); };
  return Read(stores, templates, workload, metric);
}

Result<TaskResults> TaskResults::Read(const EachStore& stores, const TemplateRegistry& templates,
                                      const Workload& workload, std::string_view metric) {
  TrialFilter filter;
  filter.workload_key = workload.Key();
  filter.valid_for = &templates;
  CountedByDevice counted;
  TW_RETURN_IF_ERROR(stores([&](const Store& store) {
    return store.ForEachTrial(filter, [&](const Record& record) {
      const Trial& trial = record.trial;
      const Candidate& candidate = trial.candidate;
      if (trial.metric == metric && IsOfConfig(trial) &&
          VersionsAreCurrent(templates, candidate.template_key, candidate.template_version,
                             trial.codegen_version)) {
        CountTrial(trial, counted);
      }
      return Status();
    });
  }));
  TaskResults results;
  for (auto& [device, found] : counted) {
    Device one{device.first, device.second, std::move(found.names), {}};
    for (const auto& [config, measured] : found.configs) {
      one.results.values.emplace(config, measured.value);
    }
    results.devices_.push_back(std::move(one));
  }
  return results;
}

Result<ConfigResults> TaskResults::On(std::string_view name) const {
  const std::string here = ModelIfHere(name);
  TW_ASSIGN_OR_RETURN(const Device* device, Find(here));
  ConfigResults results = device->results;
  results.name = here;
  return results;
}

Result<const TaskResults::Device*> TaskResults::Find(const std::string& here) const {
  std::vector<const Device*> found, all;
  for (const Device& device : devices_) {
    const auto target = Target::Parse(device.target);
    const bool fits = device.model == here || device.target == here || device.FullName() == here ||
                      (target.ok() && IsNamed(*target, here)) ||
                      std::ranges::count(device.names, here) > 0;
    if (fits) found.push_back(&device);
    all.push_back(&device);
  }
  if (found.size() == 1) return found[0];
  const std::string quoted = "device '" + here + "'";
  if (!found.empty()) {
    return InvalidArgument(
        quoted + " has records of several devices or targets; name one of:" + NamesOf(found));
  }
  if (all.empty()) return NotFound(quoted + ": the task has no records");
  return NotFound(quoted + " has no records of the task; these have:" + NamesOf(all));
}

Result<std::vector<ConfigResults>> TaskResults::OnAll(std::span<const std::string> names) const {
  std::vector<ConfigResults> results;
  std::set<const Device*> seen;
  const auto add = [&](std::string_view name) -> Status {
    const std::string here = ModelIfHere(name);
    TW_ASSIGN_OR_RETURN(const Device* device, Find(here));
    if (!seen.insert(device).second) return InvalidArgument("device '" + here + "' twice");
    results.push_back({here, device->results.values});
    return {};
  };
  for (const std::string& name : names) {
    // Texts of targets contain commas, too.
    if (Find(ModelIfHere(name)).status().code() != StatusCode::kNotFound ||
        name.find(',') == std::string::npos) {
      TW_RETURN_IF_ERROR(add(name));
      continue;
    }
    for (const std::string_view part : Split(name, ',')) TW_RETURN_IF_ERROR(add(part));
  }
  return results;
}

Result<std::vector<SizedTask>> FindSizes(Catalog& catalog, std::string_view pattern) {
  if (pattern.find('?') == std::string_view::npos) {
    return InvalidArgument("'" + std::string(pattern) + "': expected \"?\" in place of the size");
  }
  std::map<std::int64_t, Workload> found;
  const Status visited = catalog.ForEachStore([&](const Store& store) -> Status {
    TW_ASSIGN_OR_RETURN(auto keys, Statement::Prepare(Store::DatabaseOf(store),
                                                      "SELECT key FROM workload ORDER BY key"));
    while (true) {
      TW_ASSIGN_OR_RETURN(const bool row, keys.Step());
      if (!row) return {};
      const auto workload = Workload::Parse(keys.Text(0));
      if (!workload.ok()) continue;  // a forged row
      const bool open = IsOpen(*workload);
      auto size = SizeIn(pattern, open ? OpenNameOf(*workload) : keys.Text(0));
      if (size) found.try_emplace(*size, *workload);
    }
  });
  TW_RETURN_IF_ERROR(visited);
  std::vector<SizedTask> tasks;
  for (auto& [size, workload] : found) tasks.push_back({size, std::move(workload)});
  return tasks;
}

}  // namespace tilewright::records
