#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a report shows, as values: every chart of the page is drawn from these and nothing else.
// They are gathered from stores (gather.h), printed as text (document_text.h), and as the JSON of
// `report --json`, which is also what the page carries.
//
// Values of trials are in the task's metric (seconds but for a VTA). Times of a job are seconds
// since it began, pauses left out. Columns of one table have one length.

#include "search/report.h"

namespace tilewright::report {

/// The best value so far: one entry for each trial that was better than all before it.
struct BestSteps {
  std::vector<std::int64_t> trial;  ///< number within the task, from 1
  std::vector<double> seconds;      ///< of the job, when it was finished
  std::vector<double> value;
};

/// Trials as points, thinned where there are many (kMaxPoints): what improved and what failed
/// first is kept, then each so-manieth.
struct TrialPoints {
  std::vector<std::int64_t> trial;
  std::vector<double> seconds;
  std::vector<double> value;      ///< 0 of one that failed
  std::vector<double> predicted;  ///< what the model's score meant before it was measured; 0: none
  std::vector<int> kind;          ///< position in TaskPage::templates
  std::vector<int> noisy;         ///< 1: measured in noise
};

/// How much of the spread of log(value) one knob, or what two of them do only together, explains.
struct KnobShare {
  std::string first, second;  ///< second: empty for a single knob
  double share = 0;           ///< 0 to 1, corrected for the number of values
};

/// The trials of one template as points of its space.
struct KnobTable {
  struct Axis {
    std::string name;
    std::vector<std::string> values;  ///< those that were tried, in order
  };
  std::string template_key;
  std::vector<Axis> axes;
  std::vector<std::vector<int>> rows;  ///< position of the value on each axis; thinned
  std::vector<double> value;           ///< of each row
  std::int64_t trials = 0;             ///< ok ones there are
  std::vector<KnobShare> importance;   ///< knobs, then pairs, each largest first; empty: too few
};

/// How well the model ranked.
struct Ranking {
  struct Window {
    std::int64_t first = 0, last = 0;  ///< trials of the task
    double tau = 0;                    ///< Kendall's tau-b of score against speed, -1 to 1
  };
  /// Trials whose predictions are alike.
  struct Bin {
    double predicted = 0, measured = 0;  ///< medians
    double low = 0, high = 0;            ///< quartiles of measured
    std::int64_t trials = 0;
  };
  std::int64_t trials = 0;  ///< ok ones with a prediction; 0: nothing is known
  double tau = 0;           ///< mean of the windows
  std::vector<Window> windows;
  std::vector<Bin> calibration;
};

/// Trials that failed alike.
struct Failure {
  std::string outcome, reason;
  std::int64_t trials = 0;
  std::string task;       ///< name of that of the command
  std::string reproduce;  ///< does one of them again
};

/// One config of the final race, or of the fastest trials where there was none.
struct Finalist {
  std::string template_key, config;
  double value = 0;
  double noise = 0;  ///< relative half-width of the 95 % interval
  bool winner = false, tied = false, standard = false, noisy = false;
};

/// What a config becomes.
struct CodeListing {
  std::string title;  ///< "winner", "runner-up"
  std::string template_key, config;
  double value = 0;
  std::string loops;                         ///< readable pseudo-code, or why there is none
  std::string assembly;                      ///< empty: not asked for, or there is none
  std::int64_t hot_first = 0, hot_last = 0;  ///< lines of assembly, from 1: the hot loop; 0: none
};

/// Operations and bytes of a task against what the device can do.
struct Roofline {
  double operations = 0;  ///< that the best config executes: Winograd's are fewer than the task's
  double bytes = 0;
  std::string per = "second";            ///< of what follows: "second", or "cycle" of a VTA
  double peak_operations = 0;            ///< of all threads; 0: not known
  double near_bytes = 0, far_bytes = 0;  ///< of all threads; near is 0 where there is one memory
  bool int8 = false;
  double bound = 0;      ///< least value; 0: not known
  std::string peaks_of;  ///< where the peaks come from, or why there are none
};

/// What the simulator says of one config on a VTA.
struct VtaPoint {
  double cycles = 0, bytes = 0;
  bool best = false, front = false;  ///< front: none has fewer of both
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
  std::int64_t points_of = 0;  ///< trials they were chosen from
};

/// What one config asks of a multiprocessor, and what it came to.
struct GpuPoint {
  double value = 0;
  double occupancy = 0;     ///< 0 to 1
  double shared_bytes = 0;  ///< of a block
  double bank_ways = 1;     ///< loads of shared memory that wait for each other; 1: no conflicts
  bool best = false;
};

/// A config that no other one beats in all metrics of its job.
struct FrontRow {
  std::string template_key, config;
  std::vector<double> values;  ///< by TaskPage::metrics
};

/// One task of a job.
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
  Ranking ranking;
  std::vector<Finalist> finalists;
  std::vector<std::string> metrics;  ///< of a job that has several, `metric` first; else empty
  std::vector<FrontRow> front;       ///< of what is verified, by the first metric
  std::vector<CodeListing> code;
  Roofline roofline;
  std::optional<VtaPage> vta;
  std::vector<std::pair<std::string, double>> gpu;  ///< resources of the winner's kernels
  std::vector<GpuPoint> gpu_points;                 ///< the winner, and configs of the whole search

  /// Share of its value that the default config costs more, 1: none.
  double speedup() const { return best_value > 0 ? default_value / best_value : 0; }
};

/// Where the time of a job went. Shares are of the wall time between two notes; building, timing
/// and learning go on beside each other.
struct TimePage {
  std::vector<double> seconds;                                    ///< end of each stretch
  std::vector<double> timing, running, building, learning, idle;  ///< shares, 0 to 1
  double wall = 0;          ///< seconds in all, of those that were noted
  std::int64_t trials = 0;  ///< in these seconds
  double timing_seconds = 0, running_seconds = 0, building_seconds = 0, learning_seconds = 0,
         idle_seconds = 0;
  bool known() const { return wall > 0; }
};

/// Trials over time, in stretches of equal length.
struct PacePage {
  double step = 0;  ///< seconds
  std::vector<std::int64_t> trials, failed, noisy;
  std::vector<double> noise;  ///< median of ok trials, relative; 0: none
};

/// One job of one store.
struct JobPage {
  std::string store, name, graph, target, device, strategy;
  std::string fingerprint;  ///< of the device, whole; not printed
  std::uint64_t seed = 0;
  bool finished = false;
  double began_unix = 0, ended_unix = 0;
  double wall_seconds = 0;   ///< without pauses
  double pause_seconds = 0;  ///< left out of every time axis
  std::int64_t pauses = 0;
  double resolution = 0;  ///< 0: not known
  std::int64_t trials = 0, ok = 0, noisy = 0;
  TimePage time;
  PacePage pace;
  std::vector<Failure> failures;
  std::vector<TaskPage> tasks;

  /// Sums over the tasks, by the rule of `tune`.
  search::NetworkTimes Times() const;
  /// Trials per second of searching, in all runs of the job; `tune` says it of its own run.
  double TrialsPerSecond() const;
};

/// A task that two stores have.
struct ComparedTask {
  std::string name, key, target, device, other_device, metric;
  std::int64_t occurrences = 1;
  double value = 0, noise = 0, other_value = 0, other_noise = 0;
  /// other / this: above 1, this is faster; with the 95 % interval.
  double ratio = 0, low = 0, high = 0;
  std::string config, other_config, template_key, other_template;
  /// "faster", "slower", or "same" where the interval has 1 in it.
  std::string verdict;
};
struct Comparison {
  std::string store, other;
  std::vector<ComparedTask> tasks;  ///< those that explain most first
  /// Of the totals: seconds if any task is measured in them. Tasks in other metrics are left out.
  std::string metric = "seconds";
  double total = 0, other_total = 0, low = 0,
         high = 0;  ///< occurrences x value, and the ratio's interval
  std::vector<std::string> only_here, only_there;
};

/// One step of a network.
struct NetworkStep {
  std::string value, op, layout, answer, template_key, config, explanation, where;
  /// In NetworkPage::metric: of its record, else what its roofline says; 0: nobody knows.
  double cost = 0;
  bool estimated = false;
  double miss_cost = 0;  ///< more than a tuned kernel is expected to take; 0: none, or unknown
  std::int64_t macs = 0, bytes = 0;
  std::int64_t live_bytes = 0;  ///< of the arena while it runs
  bool transform = false;       ///< a change of layout
};
struct NetworkPage {
  std::string graph, target;
  std::string metric = "seconds";  ///< of the steps' costs
  std::vector<NetworkStep> steps;
  std::map<std::string, std::int64_t> coverage;  ///< steps by answer
  std::int64_t arena_bytes = 0, constant_bytes = 0, layout_changes = 0;
  std::int64_t layout_choices = 0, layouts_changed = 0;
  double layout_seconds = 0, layout_rule_seconds = 0;
};

/// One measured number of a table of scripts/bench.sh.
struct BenchRow {
  std::string group, name, unit;
  std::string better;  ///< "less" or "more"
  double value = 0;
  double noise = 0;  ///< between the least and the largest of its rounds, a share
  std::optional<double> before, change;  ///< of the table it is compared with; change: a share
  std::string verdict;                   ///< "slower", "faster", "same", or "new"
};
/// A table of scripts/bench.sh: what was measured of the program itself on one machine.
struct BenchPage {
  std::string file, cpu, date, commit, version;
  std::int64_t cores = 0, rounds = 0;
  std::optional<double> load;                  ///< of the machine, before
  std::string compared_with, compared_commit;  ///< empty: the first table of this CPU
  std::vector<std::string> gone;               ///< what only the other table has: "group: name"
  std::vector<BenchRow> rows;                  ///< in the order of the table

  /// Rows of this verdict.
  std::int64_t CountOf(std::string_view verdict) const;
};

/// All of a report.
struct Document {
  std::string title;
  std::string program;  ///< name and version of what made it
  double made_unix = 0;
  bool live = false;  ///< of a job that runs: the page asks again
  std::vector<JobPage> jobs;
  std::optional<Comparison> comparison;
  std::optional<NetworkPage> network;
  std::optional<BenchPage> bench;
  std::vector<std::string> missing;  ///< what stores lack, a sentence each
};

/// As `report --json` prints it. Numbers are rounded to six digits.
nlohmann::ordered_json ToJson(const Document& document);

}  // namespace tilewright::report
