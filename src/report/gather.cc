// Gathering of a report from stores: jobs and their tasks.
// | A store is read once, trial by trial; TaskTrials keeps the data of the charts. Start and pauses
// of the job are known only afterwards; then every trial gets its seconds of the job.

#include "src/report/gather.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "search/job_log.h"
#include "src/base/json.h"
#include "src/optimize/stored_search.h"
#include "src/report/imported_jobs.h"
#include "src/report/statistics.h"
#include "src/report/vta_roofline.h"
#include "src/session/names.h"
#include "src/target/device.h"
#include "src/tensor/work.h"

namespace tilewright::report {
namespace {

constexpr double kPauseSeconds = 60;
constexpr std::size_t kPaceSteps = 80;
constexpr std::size_t kMaxFailures = 40;

/// Reads the trials of a job.
Result<TaskMap> ReadTrials(const records::Store& store, std::int64_t job,
                           const TemplateRegistry& templates, Document& document) {
  TaskMap tasks;
  records::TrialFilter filter;
  filter.job = job;
  filter.valid_for = &templates;
  std::int64_t refused = 0;
  std::string first;
  filter.refused = [&](const std::string& why) {
    if (refused++ == 0) first = why;
  };
  const Status read = store.ForEachTrial(filter, [&tasks](const records::Record& record) {
    const Candidate& candidate = record.trial.candidate;
    const std::string key = candidate.task.workload.Key() + "\n" + candidate.epilogue.ToString() +
                            "\n" + candidate.task.target.ToString();
    auto& task = tasks[key];
    if (task == nullptr) task = std::make_unique<TaskTrials>(candidate.task, candidate.epilogue);
    task->Add(record);
    return Status();
  });
  TW_RETURN_IF_ERROR(read);
  if (refused > 0) {
    document.missing.push_back(store.path() + ": " + std::to_string(refused) +
                               " trials are left out (`tilewright records check` lists them), the"
                               " first: " +
                               first);
  }
  return tasks;
}

/// Returns a text without the user information of the addresses in it, which can be a password.
std::string WithoutCredentials(const std::string& text) {
  std::string shown;
  std::size_t from = 0;
  while (true) {
    const std::size_t host = text.find("://", from);
    if (host == std::string::npos) return shown + text.substr(from);
    const std::size_t begin = host + 3;
    const std::size_t end = std::min(text.find_first_of("/ '\"", begin), text.size());
    const std::size_t at = text.rfind('@', end);
    shown += text.substr(from, begin - from);
    from = at != std::string::npos && at >= begin && at < end ? at + 1 : begin;
  }
}

/// Reads the settings of a job, JSON of any version.
void ReadSettings(const std::string& settings, JobPage& page) {
  const auto json = ParseJson(settings);
  if (!json.ok() || !json->is_object()) return;
  const auto text = [&json](const char* name) {
    const auto found = json->find(name);
    return found != json->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  page.graph = text("graph");
  page.strategy = text("strategy");
  for (const auto& [name, value] : json->items()) {
    page.settings.emplace_back(
        name, WithoutCredentials(value.is_string() ? value.get<std::string>() : DumpJson(value)));
  }
}

void FillRoofline(const records::Store& store, const TaskTrials& trials, double product_share,
                  TaskPage& page) {
  const Task& task = trials.task();
  const Work work = WorkOf(task.workload);
  Roofline& roofline = page.roofline;
  roofline.operations = work.operations * product_share;
  roofline.bytes = static_cast<double>(work.bytes);
  roofline.int8 = !task.workload.data.dtype.is_float();
  if (page.metric != "seconds") return FillVtaRoofline(task, roofline);
  roofline.peaks_of = "the store has no peaks of this device: it was tuned by an earlier version";
  if (!DeviceTraitsOf(task.target).machine_code) {
    roofline.peaks_of = "the peaks of this device were not measured";
    return;
  }
  const auto fact = store.Fact(PeaksFact(trials.device()));
  if (!fact.ok() || !fact->has_value()) return;
  const auto peaks = ParsePeaks(**fact);
  if (!peaks.ok()) {
    roofline.peaks_of = peaks.status().message();
    return;
  }
  const int threads = std::max(1, task.target.num_threads());
  roofline.peak_operations =
      threads * (roofline.int8 ? peaks->int8_ops_per_second : peaks->float_ops_per_second);
  roofline.near_bytes = threads * peaks->near_bytes_per_second;
  roofline.far_bytes = threads * peaks->far_bytes_per_second;
  roofline.bound = RooflineOf(*peaks, task.workload.macs(), work.bytes, roofline.int8, threads)
                       .LowerBound(product_share);
  roofline.peaks_of = "measured when the job began";
}

/// Returns the failures of all tasks, most frequent first.
std::vector<Failure> FailuresOf(const TaskMap& tasks) {
  std::vector<Failure> all;
  for (const auto& [key, task] : tasks) {
    for (const auto& [sort, failure] : task->failures()) {
      const auto same = std::ranges::find_if(all, [&failure](const Failure& other) {
        return other.outcome == failure.first.outcome && other.reason == failure.first.reason;
      });
      if (same == all.end()) {
        all.push_back(failure.first);
      } else {
        same->trials += failure.first.trials;
      }
    }
  }
  std::ranges::stable_sort(all, std::greater(), &Failure::trials);
  if (all.size() > kMaxFailures) all.resize(kMaxFailures);
  return all;
}

/// Reads the task and time entries of the job's log.
Status ReadLog(const records::Store& store, std::int64_t job, TaskMap& tasks, JobPage& page,
               Document& document) {
  std::vector<records::LogEntry> own;
  for (const char* kind : {"life", "time"}) {
    TW_ASSIGN_OR_RETURN(auto entries, store.LogOfKind(job, kind));
    own.insert(own.end(), entries.begin(), entries.end());
  }
  auto log = search::DecodeJobLog(own);
  if (!log.ok()) return log.status().WithContext(page.store);
  page.time = TimeOf(log->times);
  if (log->runs.empty()) {
    document.missing.push_back(
        page.store + ": job " + page.name +
        " was tuned by an earlier version: the store has no number of uses of each task (each "
        "counts once), and no time breakdown");
  } else {
    const search::RunEntry& run_entry = log->runs.back();
    page.resolution = run_entry.resolution;
    page.command = WithoutCredentials(run_entry.command);
    page.limits = {run_entry.trials, run_entry.budget_seconds, run_entry.deadline};
    for (const search::RunEntry::Task& said : run_entry.tasks) {
      for (const auto& [key, task] : tasks) {
        if (key.starts_with(said.key + "\n" + said.epilogue + "\n")) {
          task->set_occurrences(said.occurrences);
        }
      }
    }
  }
  TW_ASSIGN_OR_RETURN(auto races, store.LogOfKind(job, "best"));
  for (const records::LogEntry& entry : races) {
    auto race = search::Decode({entry});
    if (!race.ok()) return race.status().WithContext(page.store);
    for (const auto& [key, task] : tasks) {
      if (key.starts_with(entry.task_key + "\n")) task->SetRace(*race->best);
    }
  }
  return {};
}

/// Adds one job; a job without trials adds nothing.
Status GatherJob(const records::Store& store, const records::Job& job, const GatherOptions& options,
                 Document& document) {
  auto tasks = ReadTrials(store, job.id, *options.templates, document);
  if (!tasks.ok()) return tasks.status().WithContext(store.path());
  if (tasks->empty()) return {};
  JobPage page;
  page.store = store.path();
  page.name = job.name;
  page.seed = job.seed;
  page.finished = job.finished;
  ReadSettings(job.settings, page);
  TW_RETURN_IF_ERROR(ReadLog(store, job.id, *tasks, page, document));
  std::vector<TrialSummary*> all;
  bool predicted = false, searched = false;
  for (const auto& [key, task] : *tasks) {
    for (TrialSummary& trial : task->seen()) {
      all.push_back(&trial);
      predicted = predicted || trial.predicted.has_value();
      if (trial.attempt > 0) continue;
      searched = true;
      ++page.trials;
      page.ok += trial.value > 0 ? 1 : 0;
      page.noisy += trial.noisy ? 1 : 0;
    }
    page.target = task->task().target.ToString();
    page.device = task->device().model;
    page.fingerprint = task->device().ToString();
  }
  if (searched && !predicted) {
    document.missing.push_back(store.path() + ": job " + job.name +
                               " has no predictions: no cost model was used (too few trials, or "
                               "a strategy without one), or an earlier version tuned it");
  }
  std::ranges::stable_sort(all, {}, &TrialSummary::finished);
  SetJobSeconds(all, page);
  page.pace = PaceOf(all, page.wall_seconds);
  return AddJob(store, *tasks, options, std::move(page), document);
}

/// Adds the page of a search for number formats, if the job is a complete one.
/// Leaves out a damaged result, with a note. Returns false if the job has no result.
Result<bool> GatherFormats(const records::Store& store, const records::Job& job,
                           Document& document) {
  auto result = optimize::StoredResult(store, job);
  if (result.status().code() == StatusCode::kCorrupt) {
    document.missing.push_back(result.status().message() +
                               ": this search is left out; `optimize` with its samples makes "
                               "another result");
    return true;
  }
  TW_ASSIGN_OR_RETURN(auto report, std::move(result));
  if (!report) return false;
  report->score = WithoutCredentials(report->score);
  for (optimize::Combination& one : report->combinations) {
    one.refused = WithoutCredentials(one.refused);
  }
  JobPage settings;
  ReadSettings(job.settings, settings);
  FormatsPage page{store.path(), job.name, settings.graph, "", "", *std::move(report), {}};
  for (const auto& [name, value] : settings.settings) {
    if (name == "target") page.target = value;
    if (name == "device") page.device = value;
  }
  page.bounds = optimize::BoundCosts(page.search);
  document.formats.insert(document.formats.begin(), std::move(page));
  return true;
}

}  // namespace

Status AddJob(const records::Store& store, const TaskMap& tasks, const GatherOptions& options,
              JobPage page, Document& document) {
  page.failures = FailuresOf(tasks);
  const std::size_t points = std::clamp(options.max_points / tasks.size(), kMinPoints, kMaxPoints);
  const PageLimits limits = {points, std::min(kMaxRows, points),
                             std::max(kMinPoints, options.max_listed / tasks.size())};
  std::vector<session::NamedTask> named;
  for (const auto& [key, task] : tasks) {
    const Workload& workload = task->task().workload;
    named.push_back({&workload, {}, session::ExpressionName(page.graph, workload)});
  }
  const std::vector<std::string> names = session::DistinctNames(named);
  std::vector<double> ends;
  for (const auto& [key, task] : tasks) {
    for (const TrialSummary& trial : task->seen()) {
      if (trial.attempt == 0) ends.push_back(trial.seconds);
    }
    TaskPage one = task->Page(*options.templates, limits);
    FillRoofline(store, *task, task->BestProductShare(*options.templates), one);
    one.name = names[page.tasks.size()];
    if (options.finish) TW_RETURN_IF_ERROR(options.finish(*task, one));
    page.tasks.push_back(std::move(one));
  }
  // Largest contribution to the network's time first.
  std::ranges::stable_sort(page.tasks, std::greater(), [](const TaskPage& task) {
    return static_cast<double>(task.occurrences) * std::max(task.default_value, task.best_value);
  });
  std::ranges::sort(ends);
  if (page.wall_seconds > 0) page.network_best = NetworkBestOf(page.tasks, ends);
  document.jobs.push_back(std::move(page));
  return {};
}

BestSteps NetworkBestOf(const std::vector<TaskPage>& tasks, const std::vector<double>& ends) {
  struct Step {
    double seconds = 0, value = 0;
    std::size_t task = 0;
  };
  std::vector<Step> steps;
  std::vector<double> now(tasks.size(), 0);
  double total = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskPage& task = tasks[i];
    if (!(task.default_value > 0) || !(task.best_value > 0)) continue;  // as NetworkTimes
    now[i] = task.default_value;
    total += static_cast<double>(task.occurrences) * now[i];
    for (std::size_t k = 0; k < task.best.value.size(); ++k) {
      steps.push_back({task.best.seconds[k], task.best.value[k], i});
    }
  }
  BestSteps best;
  if (!(total > 0)) return best;
  best = {{0}, {0}, {total}};
  std::ranges::stable_sort(steps, {}, &Step::seconds);
  for (const Step& step : steps) {
    if (step.value >= now[step.task]) continue;
    total -= static_cast<double>(tasks[step.task].occurrences) * (now[step.task] - step.value);
    now[step.task] = step.value;
    best.trial.push_back(std::ranges::upper_bound(ends, step.seconds) - ends.begin());
    best.seconds.push_back(step.seconds);
    best.value.push_back(total);
  }
  return best;
}

std::string PeaksFact(const DeviceFingerprint& device) { return "peaks/" + device.ToString(); }

std::string PeaksText(const MachinePeaks& peaks) {
  return DumpJson({{"float_ops_per_second", peaks.float_ops_per_second},
                   {"int8_ops_per_second", peaks.int8_ops_per_second},
                   {"near_bytes_per_second", peaks.near_bytes_per_second},
                   {"far_bytes_per_second", peaks.far_bytes_per_second}});
}

Result<MachinePeaks> ParsePeaks(std::string_view text) {
  const auto json = ParseJson(text);
  MachinePeaks peaks;
  if (!json.ok() || !json->is_object()) return Corrupt("the store's peaks are no JSON object");
  for (const auto& [name, out] : {std::pair("float_ops_per_second", &peaks.float_ops_per_second),
                                  std::pair("int8_ops_per_second", &peaks.int8_ops_per_second),
                                  std::pair("near_bytes_per_second", &peaks.near_bytes_per_second),
                                  std::pair("far_bytes_per_second", &peaks.far_bytes_per_second)}) {
    const auto found = json->find(name);
    if (found == json->end() || !found->is_number() || !(found->get<double>() > 0)) {
      return Corrupt(std::string("the store's peaks: ") + name + ", expected a positive number");
    }
    *out = found->get<double>();
  }
  return peaks;
}

void SetJobSeconds(std::vector<TrialSummary*>& trials, JobPage& page) {
  if (trials.empty()) return;
  double last = trials.front()->finished, left_out = 0;
  const double first = last - trials.front()->duration_seconds;
  for (TrialSummary* trial : trials) {
    const double gap = trial->finished - last - trial->duration_seconds;
    if (gap > kPauseSeconds) {
      left_out += gap;
      ++page.pauses;
    }
    last = trial->finished;
    trial->seconds = last - first - left_out;
  }
  page.began_unix = first;
  page.ended_unix = last;
  page.pause_seconds = left_out;
  page.wall_seconds = last - first - left_out;
}

PacePage PaceOf(const std::vector<TrialSummary*>& trials, double wall_seconds) {
  PacePage pace;
  if (trials.empty() || !(wall_seconds > 0)) return pace;
  const std::size_t steps = std::min(kPaceSteps, std::max<std::size_t>(1, trials.size() / 4));
  pace.step = wall_seconds / static_cast<double>(steps);
  pace.trials.assign(steps, 0);
  pace.failed.assign(steps, 0);
  pace.noisy.assign(steps, 0);
  pace.noise.assign(steps, 0);
  std::vector<std::vector<double>> noise(steps);
  for (const TrialSummary* trial : trials) {
    const auto at =
        std::min(steps - 1, static_cast<std::size_t>(std::max(0.0, trial->seconds / pace.step)));
    ++pace.trials[at];
    pace.failed[at] += trial->outcome == Outcome::kOk ? 0 : 1;
    pace.noisy[at] += trial->noisy ? 1 : 0;
    if (trial->value > 0) noise[at].push_back(trial->noise);
  }
  for (std::size_t i = 0; i < steps; ++i) pace.noise[i] = Median(std::move(noise[i]));
  return pace;
}

TimePage TimeOf(const std::vector<search::TimeEntry>& notes) {
  TimePage page;
  search::TimeEntry before;
  for (const search::TimeEntry& note : notes) {
    if (note.wall_seconds < before.wall_seconds) before = {};  // the job was resumed: another run
    const double wall = note.wall_seconds - before.wall_seconds;
    if (wall <= 0) continue;
    const auto add = [wall](double now, double then, std::vector<double>& shares, double& sum) {
      shares.push_back(std::clamp((now - then) / wall, 0.0, 1.0));
      sum += std::max(0.0, now - then);
    };
    page.seconds.push_back(note.elapsed_seconds);
    add(note.runner_timing_seconds, before.runner_timing_seconds, page.timing, page.timing_seconds);
    add(note.runner_busy_seconds, before.runner_busy_seconds, page.running, page.running_seconds);
    add(note.builder_busy_seconds, before.builder_busy_seconds, page.building,
        page.building_seconds);
    add(note.model_seconds, before.model_seconds, page.learning, page.learning_seconds);
    add(note.idle_seconds, before.idle_seconds, page.idle, page.idle_seconds);
    page.wall += wall;
    page.trials += std::max<std::int64_t>(0, note.trials - before.trials);
    before = note;
  }
  return page;
}

Status GatherStore(const std::string& path, const GatherOptions& options, Document& document) {
  TW_ASSIGN_OR_RETURN(auto store, records::Store::Open(path, records::Store::Mode::kReadOnly));
  TW_ASSIGN_OR_RETURN(auto jobs, store.Jobs());
  const std::size_t before = document.jobs.size();
  bool formats = false;
  const std::string imported = kImportedJob;
  std::string names;
  for (const records::Job& job : jobs) {
    names += (names.empty() ? "" : ", ") + job.name;
    if (!job.name.starts_with(options.job)) continue;
    TW_RETURN_IF_ERROR(GatherJob(store, job, options, document));
    TW_ASSIGN_OR_RETURN(const bool found, GatherFormats(store, job, document));
    formats = formats || found;
  }
  // Imported records have no trials; next to a job with trials they are omitted.
  if (document.jobs.size() == before && !formats && imported.starts_with(options.job)) {
    TW_RETURN_IF_ERROR(GatherImported(store, options, document));
  }
  if (document.jobs.size() == before && !formats) {
    const auto stored = store.CountTrials({});
    if (options.job.empty() && stored.ok() && *stored > 0) {
      return NotFound(path + ": none of its " + std::to_string(*stored) +
                      " trials may be used; `tilewright records check` says why");
    }
    if (options.job.empty())
      return NotFound(path + ": no trials in it yet; `tilewright tune` adds some");
    return NotFound("--job " + options.job + ": " + path +
                    " has no trials of such a job, expected " +
                    (names.empty() ? "none: it has no jobs" : "one of " + names));
  }
  std::ranges::stable_sort(document.jobs.begin() + static_cast<std::ptrdiff_t>(before),
                           document.jobs.end(), std::greater(), &JobPage::ended_unix);
  return {};
}

}  // namespace tilewright::report
