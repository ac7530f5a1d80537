#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Contents of a report as values; every chart of the page is drawn from these alone. They are
// gathered from stores (gather.h), printed as text (document_text.h), and written as the JSON of
// `report --json`, which the page embeds.
// | Values of trials are in the task's metric (seconds except for a VTA). Times of a job are
// seconds since its start, without pauses. Columns of one table have equal length.

#include "search/report.h"
#include "src/optimize/front.h"
#include "src/optimize/search_report.h"

namespace tilewright::report {

/// Best value over time: one entry for each trial that was better than all before it.
struct BestSteps {
  std::vector<std::int64_t> trial;  ///< number within the task, from 1
  std::vector<double> seconds;      ///< of the job, at the end of the trial
  std::vector<double> value;
};

/// Trials as points, thinned to at most kMaxPoints: improvements and failures are kept first, then
/// every n-th trial.
struct TrialPoints {
  std::vector<std::int64_t> trial;
  std::vector<double> seconds;
  std::vector<double> value;      ///< 0 for a failed trial
  std::vector<double> predicted;  ///< predicted by the model before the measurement; 0: none
  std::vector<int> kind;          ///< position in TaskPage::templates
  std::vector<int> noisy;         ///< 1: noisy
};

/// Trials of a task as rows, those of its races included; thinned like TrialPoints.
struct TrialTable {
  std::int64_t all = 0;               ///< number of trials the rows were chosen from
  std::vector<std::int64_t> trial;    ///< number within the search, from 1; 0 in a race
  std::vector<std::int64_t> attempt;  ///< 0 in the search, else the number of the race
  std::vector<double> seconds;
  std::vector<double> value;  ///< 0 for a failed trial
  std::vector<double> noise;
  std::vector<int> noisy;                ///< 1: noisy
  std::vector<int> outcome;              ///< position in `outcomes`
  std::vector<int> knobs;                ///< position in TaskPage::knobs
  std::vector<std::vector<int>> levels;  ///< position of the value on each axis
  std::vector<std::string> outcomes;     ///< names
};

/// Share of the variance of log(value) that one knob explains, or the interaction of two knobs.
struct KnobShare {
  std::string first, second;  ///< second: empty for a single knob
  double share = 0;           ///< 0 to 1, corrected for the number of values
};

/// Trials of one template as points of its space.
struct KnobTable {
  struct Axis {
    std::string name;
    std::vector<std::string> values;  ///< values that were tried, in order
  };
  std::string template_key;
  std::vector<Axis> axes;
  std::vector<std::vector<int>> rows;  ///< position of the value on each axis; thinned
  std::vector<double> value;           ///< of each row
  std::int64_t trials = 0;             ///< number of ok trials
  std::vector<KnobShare> importance;   ///< knobs, then pairs, each largest first; empty: too few
};

/// Ranking quality of the cost model.
struct Ranking {
  struct Window {
    std::int64_t first = 0, last = 0;  ///< trials of the task
    double tau = 0;                    ///< Kendall's tau-b of score against speed, -1 to 1
  };
  /// Trials with similar predictions.
  struct Bin {
    double predicted = 0, measured = 0;  ///< medians
    double low = 0, high = 0;            ///< quartiles of measured
    std::int64_t trials = 0;
  };
  std::int64_t trials = 0;  ///< ok trials with a prediction; 0: no data
  double tau = 0;           ///< mean of the windows
  std::vector<Window> windows;
  std::vector<Bin> calibration;
};

/// Failures with the same outcome and kind of reason.
struct Failure {
  std::string outcome, reason;
  std::int64_t trials = 0;
  std::string task;       ///< name of the task of the command
  std::string reproduce;  ///< command that reproduces one of them
};

/// Config of the final race, or of the fastest trials if no race was run.
struct Finalist {
  std::string template_key, config;
  double value = 0;
  double noise = 0;  ///< relative half-width of the 95 % interval
  bool winner = false, tied = false, standard = false, noisy = false;
};

/// Loops and machine code of a config.
struct CodeListing {
  std::string title;  ///< "winner", "runner-up"
  std::string template_key, config;
  double value = 0;
  std::string loops;                         ///< readable pseudo-code, or why there is none
  std::string assembly;                      ///< empty: not requested, or not available
  std::int64_t hot_first = 0, hot_last = 0;  ///< lines of assembly, from 1: the hot loop; 0: none
};

/// Operations and bytes of a task, and the peaks of the device.
struct Roofline {
  double operations = 0;  ///< executed by the best config; Winograd reduces them
  double bytes = 0;
  std::string per = "second";            ///< unit of the following rates: "second" or "cycle"
  double peak_operations = 0;            ///< of all threads; 0: unknown
  double near_bytes = 0, far_bytes = 0;  ///< of all threads; near is 0 if the device has one memory
  bool int8 = false;
  double bound = 0;      ///< least value; 0: unknown
  std::string peaks_of;  ///< source of the peaks, or the reason why there are none
};

/// Simulated cycles and bytes of one config on a VTA.
struct VtaPoint {
  double cycles = 0, bytes = 0;
  bool best = false, front = false;  ///< front: no point has fewer of both
};
struct VtaPage {
  struct Span {
    double begin = 0, end = 0;  ///< cycles
    std::string what;
  };
  std::string model;  ///< cycle model of the timeline
  double cycles = 0;
  std::vector<std::string> engines;
  std::vector<std::vector<Span>> timeline;                     ///< of each engine
  std::vector<std::pair<std::string, std::int64_t>> memories;  ///< bytes moved by kind
  std::vector<VtaPoint> points;
  std::int64_t points_of = 0;  ///< number of trials they were chosen from
};

/// Resources that one config uses of a multiprocessor, and its value.
struct GpuPoint {
  double value = 0;
  double occupancy = 0;     ///< 0 to 1
  double shared_bytes = 0;  ///< of a block
  double bank_ways = 1;     ///< conflicting loads of shared memory; 1: no conflicts
  bool best = false;
};

/// Config on the Pareto front of its job.
struct FrontRow {
  std::string template_key, config;
  std::vector<double> values;  ///< by TaskPage::metrics
};

/// Page of one task of a job.
struct TaskPage {
  std::string key, name, epilogue, target, metric = "seconds";
  std::int64_t occurrences = 1;
  std::int64_t trials = 0, ok = 0, disturbed_trials = 0, race_trials = 0;
  std::map<std::string, std::int64_t> outcomes;
  double default_value = 0, best_value = 0, best_noise = 0;  ///< 0: not measured
  bool raced = false, noisy = false;
  std::string best_template, best_config;
  std::vector<std::int64_t> ties;  ///< indices of configs
  std::vector<std::string> templates;
  BestSteps best;
  TrialPoints points;
  std::vector<KnobTable> knobs;
  TrialTable table;
  Ranking ranking;
  std::vector<Finalist> finalists;
  std::vector<std::string> metrics;  ///< of a job with several, `metric` first; else empty
  std::vector<FrontRow> front;       ///< verified trials, by the first metric
  std::vector<CodeListing> code;
  Roofline roofline;
  std::optional<VtaPage> vta;
  std::vector<std::pair<std::string, double>> gpu;  ///< resources of the winner's kernels
  std::vector<GpuPoint> gpu_points;                 ///< winner, and configs of the whole search

  /// Returns the speedup of the best config over the default config; 1: none.
  double speedup() const { return best_value > 0 ? default_value / best_value : 0; }
};

/// Time budget of a job. Shares are of the wall time between two notes; building, timing and
/// training overlap.
struct TimePage {
  std::vector<double> seconds;                                    ///< end of each stretch
  std::vector<double> timing, running, building, learning, idle;  ///< shares, 0 to 1
  double wall = 0;          ///< seconds in all noted intervals
  std::int64_t trials = 0;  ///< in these seconds
  double timing_seconds = 0, running_seconds = 0, building_seconds = 0, learning_seconds = 0,
         idle_seconds = 0;
  bool known() const { return wall > 0; }
};

/// Trials over time, in intervals of equal length.
struct PacePage {
  double step = 0;  ///< seconds
  std::vector<std::int64_t> trials, failed, noisy;
  std::vector<double> noise;  ///< median of ok trials, relative; 0: none
};

/// Limits of the newest run of a job; 0 or empty: none.
struct JobLimits {
  std::int64_t trials = 0;
  double budget_seconds = 0;
  std::string deadline;
};

/// Page of one job of one store.
struct JobPage {
  std::string store, name, graph, target, device, strategy;
  std::string fingerprint;  ///< of the device, complete; not printed
  std::uint64_t seed = 0;
  std::string command;  ///< command of the newest run; empty: unknown
  JobLimits limits;
  std::vector<std::pair<std::string, std::string>> settings;  ///< of the first run, as JSON texts
  bool finished = false;
  double began_unix = 0, ended_unix = 0;
  double wall_seconds = 0;   ///< without pauses
  double pause_seconds = 0;  ///< excluded from every time axis
  std::int64_t pauses = 0;
  double resolution = 0;  ///< 0: unknown
  std::int64_t trials = 0, ok = 0, noisy = 0;
  TimePage time;
  PacePage pace;
  /// Time of the network over the job: of each task that NetworkTimes counts its default value, or
  /// the best value so far. BestSteps::trial counts all trials of the search.
  BestSteps network_best;
  std::vector<Failure> failures;
  std::vector<TaskPage> tasks;

  /// Returns the sums over the tasks, by the rule of `tune`.
  search::NetworkTimes Times() const;
  /// Returns the trials per second of search time, in all runs of the job; `tune` prints the rate
  /// of its own run.
  double TrialsPerSecond() const;
};

/// Task that two stores have in common.
struct ComparedTask {
  std::string name, key, target, device, other_device, metric;
  std::int64_t occurrences = 1;
  double value = 0, noise = 0, other_value = 0, other_noise = 0;
  /// other / this, with the 95 % interval. Above 1: this is faster.
  double ratio = 0, low = 0, high = 0;
  std::string config, other_config, template_key, other_template;
  /// "faster", "slower", or "same" if the interval contains 1.
  std::string verdict;
};
struct Comparison {
  std::string store, other;
  std::vector<ComparedTask> tasks;  ///< largest contribution first
  /// Metric of the totals: seconds if any task is measured in seconds. Tasks in other metrics are
  /// skipped.
  std::string metric = "seconds";
  double total = 0, other_total = 0, low = 0,
         high = 0;  ///< occurrences x value, and the ratio's interval
  std::vector<std::string> only_here, only_there;
};

/// One step of a network.
struct NetworkStep {
  std::string value, op, layout, answer, template_key, config, explanation, where;
  std::string layer;     ///< name of the operator in the model file, or of its result
  std::string shape;     ///< of the result: "1x64x56x56"
  std::string workload;  ///< TaskPage::key of its task; empty: none
  /// In NetworkPage::metric: from its record, or estimated from its roofline; 0: unknown.
  double cost = 0;
  bool estimated = false;
  double miss_cost = 0;  ///< expected time in addition to a tuned kernel's; 0: none, or unknown
  std::int64_t macs = 0, bytes = 0;
  std::int64_t live_bytes = 0;  ///< of the arena during the step
  bool transform = false;       ///< a layout transform
};
struct NetworkPage {
  std::string graph, target;
  std::string metric = "seconds";  ///< of the steps' costs
  std::vector<NetworkStep> steps;
  std::map<std::string, std::int64_t> coverage;  ///< steps by answer level
  std::int64_t arena_bytes = 0, constant_bytes = 0, layout_changes = 0;
  std::int64_t layout_choices = 0, layouts_changed = 0;
  double layout_seconds = 0, layout_rule_seconds = 0;
};

/// Measured value of a table of scripts/bench.sh.
struct BenchRow {
  std::string group, name, unit;
  std::string better;  ///< "less" or "more"
  double value = 0;
  double noise = 0;  ///< relative difference between the least and the largest of its rounds
  std::optional<double> before, change;  ///< from the table it is compared with; change: relative
  std::string verdict;                   ///< "slower", "faster", "same", or "new"
};
/// Table of scripts/bench.sh: measurements of the program itself on one machine.
struct BenchPage {
  std::string file, cpu, date, commit, version;
  std::int64_t cores = 0, rounds = 0;
  std::optional<double> load;                  ///< empty: the first table of this CPU
  std::string compared_with, compared_commit;  ///< rows only in the other table: "group: name"
  std::vector<std::string> gone;               ///< in the order of the table
  std::vector<BenchRow> rows;                  ///< in the order of the table

  /// Returns the number of rows with this verdict.
  std::int64_t CountOf(std::string_view verdict) const;
};

/// Search for number formats (src/optimize).
struct FormatsPage {
  std::string store, job, graph, target, device;
  optimize::SearchReport search;
  std::vector<optimize::BoundCost> bounds;
};

/// State of a running job.
struct LivePage {
  double share = 0;                             ///< done, 0 to 1
  double elapsed_seconds = 0, eta_seconds = 0;  ///< of this run; eta: 0 if unknown
  std::int64_t trials = 0;                      ///< of all runs
  double trials_per_second = 0;                 ///< of this run
  std::int64_t tasks = 0, finished_tasks = 0;
  // The newest trial.
  std::string task, epilogue, target;  ///< as TaskPage has them: key, epilogue, target
  std::string template_key, config, outcome;
  double value = 0;  ///< 0: failed
};

/// Complete contents of a report.
struct Document {
  std::string title;
  std::string program;  ///< name and version of the program that made it
  double made_unix = 0;
  bool live = false;                 ///< of a running job: the page polls for updates
  std::optional<LivePage> progress;  ///< of a running job with a trial
  std::vector<JobPage> jobs;
  std::vector<FormatsPage> formats;  ///< newest first
  std::optional<Comparison> comparison;
  std::optional<NetworkPage> network;
  std::optional<BenchPage> bench;
  std::vector<std::string> missing;  ///< data that stores lack, a sentence each
};

/// Returns the document as `report --json` prints it. Numbers are rounded to six digits.
nlohmann::ordered_json ToJson(const Document& document);

}  // namespace tilewright::report
