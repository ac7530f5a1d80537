// A result becomes a trial in the units of records; what a trial has no member for stays in the
// job's log.
#include "records/exchange/t4_import.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <numeric>
#include <utility>
#include <vector>

#include "records/exchange/t4_origin.h"
#include "records/validation/digest.h"
#include "records/validation/rules.h"
#include "records/validation/schedules.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/space/exchange/cachefile.h"
#include "src/space/exchange/gzip.h"
#include "src/space/exchange/t4_space.h"
#include "src/target/device.h"
#include "src/templates/open/environment.h"
#include "src/templates/open/open_template.h"
#include "src/templates/open/space_text.h"
#include "src/tensor/work.h"

namespace tilewright::records {
namespace {

constexpr std::size_t kBatch = 1000;  // results of a transaction
constexpr double kIntervalFactor = 1.96;

/// File with what its own metadata states about the task.
struct LoadedT4 {
  T4File file;
  Json own = Json::object();   // "tilewright" of the metadata
  std::string kernel, device;  // of the file's name, or of a cachefile
};

/// Returns a text without an ending, if it has it.
std::string WithoutEnding(std::string text, std::string_view ending) {
  if (text.ends_with(ending)) text.resize(text.size() - ending.size());
  return text;
}

Result<LoadedT4> LoadT4(const std::string& path) {
  LoadedT4 read;
  TW_ASSIGN_OR_RETURN(read.file, LoadT4OrCache(path));
  const std::string name = WithoutEnding(T4SpaceName(path), ".cachefile");
  const std::size_t dot = name.find('.');
  read.kernel = name.substr(0, dot);
  if (dot != std::string::npos) read.device = name.substr(dot + 1);
  if (read.device.empty()) read.device = DeviceOfCache(read.file);
  const auto metadata = ParseJson(read.file.metadata);
  if (metadata.ok() && metadata->is_object() && metadata->contains("tilewright") &&
      (*metadata)["tilewright"].is_object()) {
    read.own = (*metadata)["tilewright"];
  }
  return read;
}

/// Returns the minimized metric: that of the first objective, which all results must have.
Result<std::string> ObjectiveMetric(const T4File& file) {
  const auto objective = [](const T4Result& result) {
    return result.objectives.empty() ? std::string("time") : result.objectives[0];
  };
  if (file.results.empty()) return InvalidArgument("no results");
  const std::string name = objective(file.results[0]);
  std::string unit;
  for (std::size_t r = 0; r < file.results.size(); ++r) {
    if (objective(file.results[r]) != name) {
      return InvalidArgument("result " + std::to_string(r + 1) + ": expected the objective " +
                             name + " of the first result");
    }
    for (const T4Measurement& measurement : file.results[r].measurements) {
      if (measurement.name == name && measurement.value) unit = measurement.unit.value_or("");
    }
  }
  if (name == "time") return std::string("seconds");
  return unit.empty() || unit == name ? name : name + "[" + unit + "]";
}

Result<OpenTask> TaskOf(const LoadedT4& read, const T4ImportOptions& options) {
  if (options.task != nullptr) return *options.task;
  if (read.own.contains("open_task") && options.name.empty() && options.space.empty()) {
    return ParseOpenTask(DumpJson(read.own["open_task"]), "open_task");
  }
  OpenTaskParts parts;
  parts.input = OpenInput::kCaller;
  parts.name = options.name.empty() ? read.kernel : options.name;
  TW_ASSIGN_OR_RETURN(parts.space, options.space.empty() ? SpaceOfT4(parts.name, read.file)
                                                         : LoadOpenSpace(options.space));
  if (!options.problem.empty()) {
    auto problem = ParseProblem(options.problem);
    if (!problem.ok()) return problem.status().WithContext("problem");
    parts.problem = *std::move(problem);
  }
  TW_ASSIGN_OR_RETURN(parts.metrics.front(), ObjectiveMetric(read.file));
  return MakeOpenTask(std::move(parts));
}

Result<DeviceFingerprint> DeviceOf(const LoadedT4& read, const T4ImportOptions& options) {
  if (!options.environment.empty()) {
    auto device = ParseEnvironment(options.environment);
    return device.ok() ? device
                       : Result<DeviceFingerprint>(device.status().WithContext("environment"));
  }
  if (read.own.contains("device")) return DeviceFingerprint::Parse(DumpJson(read.own["device"]));
  if (read.device.empty()) {
    return InvalidArgument(
        "the file does not state its device, expected an environment, or a name such as "
        "KERNEL.DEVICE.T4.json");
  }
  return ParseEnvironment(DumpJson(Json{{"match", {{"device", read.device}}}}));
}

/// Returns the date of a timestamp such as "2023-12-22 09:54:05.502007+00:00"; 0 for another text.
double UnixSecondsOf(const std::string& text) {
  std::tm date{};
  double seconds = 0;
  char separator = 0, sign = 0;
  int hours = 0, minutes = 0;
  const int read = std::sscanf(text.c_str(), "%4d-%2d-%2d%c%2d:%2d:%lf%c%2d:%2d", &date.tm_year,
                               &date.tm_mon, &date.tm_mday, &separator, &date.tm_hour, &date.tm_min,
                               &seconds, &sign, &hours, &minutes);
  if (read < 7 || !(seconds >= 0 && seconds < 61)) return 0;
  date.tm_year -= 1900;
  date.tm_mon -= 1;
  double unix_seconds = static_cast<double>(::timegm(&date)) + seconds;
  if (sign == '+' || sign == '-') unix_seconds -= (sign == '+' ? 60 : -60) * (hours * 60 + minutes);
  return std::max(0.0, unix_seconds);
}

/// Relative half-width of the 95 % interval of the mean.
double NoiseOf(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0;
  const auto count = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return mean > 0 ? kIntervalFactor * std::sqrt(squares / (count - 1) / count) / mean : 0;
}

/// Converts results to trials of one task and device.
class TrialMaker {
 public:
  TrialMaker(const OpenTask& task, DeviceFingerprint device, double duration_unit)
      : task_(task), device_(std::move(device)), duration_unit_(duration_unit) {}

  /// Errors: kInvalidArgument.
  Result<Trial> TrialOf(const T4Result& result) const {
    TW_ASSIGN_OR_RETURN(const OpenConfig config, task_.space.Locate(result.configuration));
    const std::string violated = task_.space.ViolatedCondition(config);
    if (!violated.empty()) return InvalidArgument("its config violates the condition " + violated);
    Trial trial;
    trial.candidate.task = {task_.workload, task_.target()};
    trial.candidate.template_key = task_.key;
    trial.candidate.template_version = kOpenTaskVersion;
    trial.candidate.config = task_.knobs.At(task_.space.IndexOf(config));
    trial.device = device_;
    trial.metric = task_.metrics.front();
    trial.codegen_version = DeviceTraitsOf(task_.target()).codegen_version;
    trial.outcome = OutcomeIn(result);
    if (result.timestamp) trial.finished_unix_seconds = UnixSecondsOf(*result.timestamp);
    trial.build_seconds = SecondsOf(result, "compilation");
    trial.run_seconds = SecondsOf(result, "benchmark");
    if (trial.outcome == Outcome::kOk) {
      TW_RETURN_IF_ERROR(AddValues(result, trial));
    } else {
      trial.reason = ReasonOf(result);
    }
    const std::string why = InvalidValuesReason(trial, MinSeconds(task_.workload, task_.target()));
    if (!why.empty()) return InvalidArgument(why);
    return trial;
  }

 private:
  double SecondsOf(const T4Result& result, std::string_view stage) const {
    for (const T4Result::Duration& duration : result.times) {
      if (duration.stage != stage) continue;
      const double sum = std::accumulate(duration.values.begin(), duration.values.end(), 0.0);
      return std::isfinite(sum) ? std::max(0.0, sum * duration_unit_) : 0;
    }
    return 0;
  }

  Status AddValues(const T4Result& result, Trial& trial) const {
    const bool timed = trial.metric == "seconds";
    double factor = 1;
    if (timed) {
      factor = duration_unit_;
      for (const T4Measurement& measurement : result.measurements) {
        const std::string unit = measurement.unit.value_or("");
        if (measurement.name != "time" || unit.empty()) continue;
        const auto seconds = SecondsPerUnit(unit);
        if (!seconds) return InvalidArgument("the unit " + unit + " of \"time\" is unknown");
        factor = *seconds;
      }
    }
    trial.value = *result.ObjectiveValue() * factor;
    trial.verified = result.correctness.value_or(1) > 0;
    for (const T4Result::Duration& duration : result.times) {
      if (!timed || duration.stage != "runtimes") continue;
      for (const double value : duration.values) trial.samples.push_back(value * duration_unit_);
    }
    // A value that is not one of the samples' is no estimate from them: the log keeps them.
    const auto [least, most] = std::ranges::minmax_element(trial.samples);
    const bool usable = !trial.samples.empty() && *least >= 0 && std::isfinite(*most) &&
                        trial.value >= *least && trial.value <= *most;
    if (!usable) trial.samples.clear();
    trial.noise = NoiseOf(trial.samples);
    return {};
  }

  /// Returns a text that our own files have beside the members of T4; empty without.
  static std::string OwnMember(const T4Result& result, const char* name) {
    if (result.others.empty()) return {};
    const auto others = ParseJson(result.others);
    const bool has = others.ok() && others->contains(name) && (*others)[name].is_string();
    return has ? (*others)[name].get<std::string>() : std::string();
  }

  static Outcome OutcomeIn(const T4Result& result) {
    const Outcome outcome = T4OutcomeOf(result);
    const auto own = ParseOutcome(OwnMember(result, "outcome"));
    // A failure may have a closer name.
    return own.ok() && outcome != Outcome::kOk && *own != Outcome::kOk ? *own : outcome;
  }

  static std::string ReasonOf(const T4Result& result) {
    if (std::string own = OwnMember(result, "reason"); !own.empty()) return own;
    std::string reason = result.invalidity.value_or("");
    for (const T4Measurement& measurement : result.measurements) {
      if (!measurement.text.empty()) return reason + ": " + measurement.text;
    }
    return reason;
  }

  const OpenTask& task_;
  const DeviceFingerprint device_;
  const double duration_unit_;
};

/// Appends the trials after the first `done` ones, with the log that keeps the file.
Status AppendAll(Store& store, std::int64_t job, const T4File& file, const std::string& t1,
                 const std::vector<Trial>& trials, std::size_t done, bool begun) {
  std::vector<LogEntry> log;
  if (!begun) log.push_back(T4FileEntry(file, t1));
  for (std::size_t at = done; at < trials.size(); at += kBatch) {
    const std::size_t end = std::min(trials.size(), at + kBatch);
    for (std::size_t i = at; i < end; ++i) {
      log.push_back(T4ResultEntry(file.results[i], trials[i].candidate.config.index));
    }
    const auto first = trials.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = trials.begin() + static_cast<std::ptrdiff_t>(end);
    TW_RETURN_IF_ERROR(store.Append(job, {first, last}, log));
    log.clear();
  }
  return store.FinishJob(job);
}

}  // namespace

bool LooksLikeT4(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(4096, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  if (IsGzip(begin)) return true;
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || begin[first] != '{') return false;
  const std::string_view line = std::string_view(begin).substr(first, begin.find('\n', first));
  const bool is_log = line.find("\"input\"") != std::string_view::npos &&
                      line.find("\"result\"") != std::string_view::npos;
  if (is_log) return false;
  return std::ranges::any_of(
      std::vector<std::string_view>{"\"metadata\"", "\"results\"", "\"device_name\"", "\"cache\"",
                                    "\"tune_params_keys\"", "\"schema_version\""},
      [&](std::string_view word) { return begin.find(word) != std::string::npos; });
}

Result<T4Import> ImportT4(Store& store, const std::string& path, const T4ImportOptions& options) {
  TW_ASSIGN_OR_RETURN(const LoadedT4 read, LoadT4(path));
  const auto import = [&]() -> Result<T4Import> {
    TW_ASSIGN_OR_RETURN(const OpenTask task, TaskOf(read, options));
    TW_ASSIGN_OR_RETURN(const DeviceFingerprint device, DeviceOf(read, options));
    const TrialMaker maker(task, device, read.file.duration_unit_seconds());
    T4Import done{task.workload.Key(), task.name, device.model};
    std::vector<Trial> trials;
    for (std::size_t r = 0; r < read.file.results.size(); ++r) {
      auto trial = maker.TrialOf(read.file.results[r]);
      if (!trial.ok()) return trial.status().WithContext("result " + std::to_string(r + 1));
      done.failed += trial->outcome == Outcome::kOk ? 0 : 1;
      trials.push_back(*std::move(trial));
    }
    done.results = std::ssize(trials);
    std::string t1;
    if (!options.space.empty()) {
      TW_ASSIGN_OR_RETURN(t1, ReadFile(options.space, kMaxOpenTaskBytes));
      if (!IsT1Text(t1)) t1 = task.space.ToT1();
    }
    if (options.dry_run) {
      done.imported = done.results;
      return done;
    }
    TemplateRegistry own;
    TW_RETURN_IF_ERROR(AddOpenTask(own, task));
    TW_RETURN_IF_ERROR(StoreScheduleTexts(store, own));
    const Json settings = {{"graph", task.workload.Key()},
                           {"target", task.target().ToString()},
                           {"strategy", "grid"},
                           {"seed", 1}};
    const std::string contents =
        task.key + "\n" + device.ToString() + "\n" + t1 + "\n" + read.file.ToString();
    const std::string name = kT4JobPrefix + Sha256Hex(contents).substr(0, 32);
    TW_ASSIGN_OR_RETURN(const Job job, store.OpenJob(name, DumpJson(settings), 1));
    TW_ASSIGN_OR_RETURN(const auto entries, store.LogOfKind(job.id, kT4EntryKind));
    const bool begun = !entries.empty();
    const std::size_t before = begun ? std::min(entries.size() - 1, trials.size()) : 0;
    done.imported = done.results - static_cast<std::int64_t>(before);
    TW_RETURN_IF_ERROR(AppendAll(store, job.id, read.file, t1, trials, before, begun));
    return done;
  };
  auto done = import();
  return done.ok() ? done : Result<T4Import>(done.status().WithContext(path));
}

}  // namespace tilewright::records
