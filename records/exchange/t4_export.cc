// Groups trials by task, device and template, and converts each group to a T4 file.
#include "records/exchange/t4_export.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "records/exchange/t4_origin.h"
#include "records/front/front.h"
#include "records/row.h"
#include "src/base/json.h"
#include "src/templates/open/environment.h"
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

ParameterValue ParameterOf(const KnobValue& value) {
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
  name += ".";
  if (IsEnvironment(device)) {  // the values of its fields
    bool first = true;
    for (const auto& [field, value] : EnvironmentFields(device)) {
      name += (first ? "" : "-") + value;
      first = false;
    }
  } else {
    name += device.model;
  }
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
    result.configuration.emplace_back(name, ParameterOf(value));
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

namespace {

/// Trials that become one file.
struct T4Group {
  std::vector<std::string> order;           // of configs
  std::map<std::string, Record> by_config;  // by the text of the config
};

/// Files that were imported, by job; read when the first trial of a job is written.
class Origins {
 public:
  explicit Origins(const Store& store) : store_(store) {}
  /// Returns null for other jobs.
  Result<const T4Origin*> Of(std::int64_t job) {
    const auto [place, added] = origins_.try_emplace(job);
    if (added) {
      TW_ASSIGN_OR_RETURN(place->second, ReadT4Origin(store_, job));
    }
    return place->second.has_value() ? &*place->second : nullptr;
  }

 private:
  const Store& store_;
  std::map<std::int64_t, std::optional<T4Origin>> origins_;
};

/// Returns the numbers of the jobs that are imports.
Result<std::set<std::int64_t>> ImportJobs(const Store& store) {
  TW_ASSIGN_OR_RETURN(const auto jobs, store.Jobs());
  std::set<std::int64_t> imports;
  for (const Job& job : jobs) {
    if (job.name.starts_with(kT4JobPrefix)) imports.insert(job.id);
  }
  return imports;
}

/// Adds the results of a group to its file, and the members of the file that they were imported
/// from.
Status AddResults(const T4Group& group, Origins& origins, const std::set<std::int64_t>& imports,
                  T4Export& exported, T4Space& space) {
  std::vector<std::pair<const T4Origin*, std::vector<std::size_t>>> imported;
  std::vector<T4Result> own;
  for (const std::string& config : group.order) {
    const Record& record = group.by_config.at(config);
    TW_ASSIGN_OR_RETURN(const T4Origin* origin, origins.Of(record.job));
    const auto index = record.trial.candidate.config.index;
    if (origin != nullptr && origin->results_of.contains(index)) {
      auto place = std::ranges::find(imported, origin, [](auto& one) { return one.first; });
      if (place == imported.end()) place = imported.insert(imported.end(), {origin, {}});
      const auto& mine = origin->results_of.at(index);
      place->second.insert(place->second.end(), mine.begin(), mine.end());
      continue;
    }
    exported.reduced += imports.contains(record.job) ? 1 : 0;
    own.push_back(T4ResultOf(record.trial));
  }
  for (auto& [origin, positions] : imported) {
    std::ranges::sort(positions);
    for (const std::size_t at : positions) space.file.results.push_back(origin->file.results[at]);
  }
  if (!imported.empty()) {
    const T4Origin* first = imported.front().first;
    // Durations are in the unit of the file's metadata.
    const double factor = space.file.duration_unit_seconds() / first->file.duration_unit_seconds();
    for (T4Result& result : own) {
      for (T4Result::Duration& duration : result.times) {
        for (double& value : duration.values) value *= factor;
      }
    }
    Json metadata = *ParseJson(first->file.metadata);
    const Json ours = *ParseJson(space.file.metadata);
    if (!own.empty() && metadata.is_object()) metadata["tilewright"] = ours["tilewright"];
    space.file.metadata = DumpJson(metadata);
    space.file.others = first->file.others;
    if (!first->t1.empty()) space.t1 = first->t1;
  }
  for (T4Result& result : own) space.file.results.push_back(std::move(result));
  exported.trials += std::ssize(space.file.results);
  return {};
}

}  // namespace

Result<T4Export> ExportT4(const TemplateRegistry& templates, const Store& store,
                          const Selection& selection) {
  std::vector<std::string> order;
  std::map<std::string, T4Group> groups;
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
    const auto [place, is_new] = group->second.by_config.try_emplace(config, record);
    if (is_new) {
      group->second.order.push_back(config);
    } else {
      ++exported.left["another measurement of the config counts"];
      if (Replaces(trial, place->second.trial)) place->second = record;
    }
    return {};
  }));
  Origins origins(store);
  TW_ASSIGN_OR_RETURN(const auto imports, ImportJobs(store));
  std::set<std::string> names;
  std::map<std::string, int> next;  // number that a further space of the name is given
  for (const std::string& key : order) {
    const T4Group& group = groups.at(key);
    const Trial& first = group.by_config.at(group.order.front()).trial;
    T4Space space{T4NameOf(first.candidate, first.device), T4FileFor(templates, first), {}};
    const TemplateEntry* entry = templates.Find(first.candidate.template_key);
    if (entry != nullptr && entry->open != nullptr) space.t1 = entry->open->space.ToT1();
    const std::string base = space.name;
    int& number = next.try_emplace(base, 2).first->second;
    while (!names.insert(space.name).second) space.name = base + "-" + std::to_string(number++);
    TW_RETURN_IF_ERROR(AddResults(group, origins, imports, exported, space));
    exported.spaces.push_back(std::move(space));
  }
  return exported;
}

}  // namespace tilewright::records
