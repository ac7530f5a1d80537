// Groups trials by task, device and template, and converts each group to a T4 file.
#include "records/exchange/t4_export.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "records/front/front.h"
#include "records/row.h"
#include "src/base/json.h"
#include "src/templates/open/open_task.h"
#include "src/templates/registry.h"
#include "src/tensor/open_workload.h"

namespace tilewright::records {
namespace {

/// Returns the name and unit of a metric: "seconds" is "time", as in other tuners.
std::pair<std::string, std::string> MeasurementName(std::string_view metric) {
  if (metric == "seconds") return {"time", "seconds"};
  const std::size_t bracket = metric.find('[');
  if (bracket != std::string_view::npos && metric.ends_with(']')) {
    return {std::string(metric.substr(0, bracket)),
            std::string(metric.substr(bracket + 1, metric.size() - bracket - 2))};
  }
  if (metric.ends_with("_bytes")) return {std::string(metric), "B"};
  return {std::string(metric), std::string(metric)};
}

T4Measurement MeasurementOf(std::string_view metric, double value) {
  T4Measurement measurement;
  std::tie(measurement.name, measurement.unit.emplace()) = MeasurementName(metric);
  measurement.value = value;
  return measurement;
}

std::string InvalidityOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "correct";
    case Outcome::kInvalid:
      return "constraints";
    case Outcome::kBuildFailed:
      return "compile";
    case Outcome::kBuildTimeout:
    case Outcome::kRunTimeout:
      return "timeout";
    case Outcome::kWrongResult:
      return "correctness";
    case Outcome::kRunFailed:
    case Outcome::kDeviceLost:
      break;
  }
  return "runtime";
}

ParameterValue ValueOf(const KnobValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.value)) return *integer;
  if (const auto* boolean = std::get_if<bool>(&value.value)) return *boolean;
  if (const auto* real = std::get_if<double>(&value.value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  return value.ToString();
}

std::string TimeText(double unix_seconds) {
  // Years that the calendar has; others are invalid dates.
  if (!(unix_seconds >= 0 && unix_seconds < 2e11)) unix_seconds = 0;
  const auto whole = static_cast<std::time_t>(unix_seconds);
  const auto micros = static_cast<int>((unix_seconds - std::floor(unix_seconds)) * 1e6);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:06}+00:00", fmt::gmtime(whole), micros);
}

/// Later or better measurement of one config.
bool Replaces(const Trial& trial, const Trial& other) {
  const bool ok = trial.outcome == Outcome::kOk, other_ok = other.outcome == Outcome::kOk;
  return ok != other_ok ? ok : Supersedes(trial, other);
}

}  // namespace

std::string T4NameOf(const Candidate& candidate, const DeviceFingerprint& device) {
  const Workload& workload = candidate.task.workload;
  std::string name = IsOpen(workload)
                         ? OpenNameOf(workload)
                         : std::string(workload.op_name()) + "-" + candidate.template_key;
  name += "." + device.model;
  for (char& c : name) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '-';
    if (!fine) c = '_';
  }
  return name.substr(0, 100);
}

T4File T4FileFor(const TemplateRegistry& templates, const Trial& trial) {
  const Candidate& candidate = trial.candidate;
  Json own = {{"workload", candidate.task.workload.Key()},
              {"target", candidate.task.target.ToString()},
              {"epilogue", candidate.epilogue.ToString()},
              {"template", candidate.template_key},
              {"template_version", candidate.template_version},
              {"codegen_version", trial.codegen_version},
              {"metric", trial.metric}};
  const auto device = ParseJson(trial.device.ToString());
  if (device.ok()) own["device"] = *device;
  const TemplateEntry* entry = templates.Find(candidate.template_key);
  if (entry != nullptr && entry->open != nullptr) {
    const auto text = ParseJson(entry->open->text);
    if (text.ok()) own["open_task"] = *text;
  }
  T4File file;
  file.metadata = DumpJson(Json{{"timeunit", "seconds"}, {"tilewright", std::move(own)}});
  return file;
}

T4Result T4ResultOf(const Trial& trial) {
  T4Result result;
  if (trial.finished_unix_seconds > 0) result.timestamp = TimeText(trial.finished_unix_seconds);
  for (const auto& [name, value] : trial.candidate.config.values) {
    result.configuration.emplace_back(name, ValueOf(value));
  }
  const auto add_time = [&](const char* stage, double seconds) {
    if (seconds > 0) result.times.push_back({stage, {seconds}, false});
  };
  add_time("compilation", trial.build_seconds);
  add_time("benchmark", trial.run_seconds);
  const bool ok = trial.outcome == Outcome::kOk;
  result.invalidity = InvalidityOf(trial.outcome);
  result.correctness = ok && trial.verified ? 1 : 0;
  Json others = {{"outcome", OutcomeName(trial.outcome)}, {"index", trial.candidate.config.index}};
  if (trial.max_abs_error > 0) others["max_abs_error"] = trial.max_abs_error;
  if (!trial.reason.empty()) others["reason"] = trial.reason;
  if (trial.attempt != 0) others["attempt"] = trial.attempt;
  if (ok) {
    if (!trial.samples.empty()) others["noise"] = trial.noise;
    if (trial.clean_fraction >= 0) others["clean_fraction"] = trial.clean_fraction;
    // T4's runtimes are durations.
    if (trial.metric == "seconds" && !trial.samples.empty()) {
      result.times.push_back({"runtimes", trial.samples, true});
    } else if (!trial.samples.empty()) {
      others["samples"] = trial.samples;
    }
    result.measurements.push_back(MeasurementOf(trial.metric, trial.value));
    for (const auto& [metric, value] : trial.others) {
      result.measurements.push_back(MeasurementOf(metric, value));
    }
  }
  result.objectives = {MeasurementName(trial.metric).first};
  result.others = DumpJson(others);
  return result;
}

Result<T4Export> ExportT4(const TemplateRegistry& templates, const Store& store,
                          const Selection& selection) {
  struct Group {
    std::vector<std::string> order;          // of configs
    std::map<std::string, Trial> by_config;  // by the text of the config
  };
  std::vector<std::string> order;
  std::map<std::string, Group> groups;
  T4Export exported;
  TrialFilter filter;
  filter.valid_for = &templates;
  filter.refused = [&](const std::string&) { ++exported.left["the row is not valid"]; };
  TW_RETURN_IF_ERROR(store.ForEachTrial(filter, [&](const Record& record) -> Status {
    const Trial& trial = record.trial;
    if (!selection.Includes(trial.candidate)) return {};
    const std::string key = T4FileFor(TemplateRegistry(), trial).metadata;
    const auto [group, added] = groups.try_emplace(key);
    if (added) order.push_back(key);
    const std::string config = trial.candidate.config.ToString();
    const auto [place, is_new] = group->second.by_config.try_emplace(config, trial);
    if (is_new) {
      group->second.order.push_back(config);
    } else {
      ++exported.left["another measurement of the config counts"];
      if (Replaces(trial, place->second)) place->second = trial;
    }
    return {};
  }));
  std::set<std::string> names;
  std::map<std::string, int> next;  // number that a further space of the name is given
  for (const std::string& key : order) {
    const Group& group = groups.at(key);
    const Trial& first = group.by_config.at(group.order.front());
    T4Space space{T4NameOf(first.candidate, first.device), T4FileFor(templates, first)};
    const std::string base = space.name;
    int& number = next.try_emplace(base, 2).first->second;
    while (!names.insert(space.name).second) space.name = base + "-" + std::to_string(number++);
    for (const std::string& config : group.order) {
      space.file.results.push_back(T4ResultOf(group.by_config.at(config)));
      ++exported.trials;
    }
    exported.spaces.push_back(std::move(space));
  }
  return exported;
}

}  // namespace tilewright::records
