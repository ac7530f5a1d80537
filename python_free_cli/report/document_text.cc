#include "python_free_cli/report/document_text.h"

#include <fmt/format.h>

#include "python_free_cli/tune_display.h"
#include "src/base/printable.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kShownFailures = 8;
constexpr std::size_t kShownTasks = 40;
constexpr std::size_t kShownOfFront = 12;

using cli::ShortDuration;
using cli::ShortValue;

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string SpeedupText(double before, double after) {
  return before > 0 && after > 0 ? fmt::format("{:.2f}x", before / after) : "-";
}

void AppendTasks(const JobPage& job, std::string& text) {
  text += fmt::format("\n{:<38} {:>4} {:>12} {:>12} {:>8} {:>7} {:>7} {:>6}\n", "task", "uses",
                      "default", "best", "gain", "roofl.", "trials", "tau");
  std::size_t shown = 0;
  for (const TaskPage& task : job.tasks) {
    if (++shown > kShownTasks) {
      text += fmt::format("… and {} more\n", job.tasks.size() - kShownTasks);
      break;
    }
    const bool bound = task.roofline.bound > 0 && task.best_value > 0;
    text += fmt::format(
        "{:<38} {:>4} {:>12} {:>12} {:>8} {:>7} {:>7} {:>6}{}{}\n", task.name, task.occurrences,
        ShortValue(task.metric, task.default_value), ShortValue(task.metric, task.best_value),
        SpeedupText(task.default_value, task.best_value),
        bound ? fmt::format("{:.0f}%", Percent(task.roofline.bound, task.best_value)) : "-",
        task.trials, task.ranking.windows.empty() ? "-" : fmt::format("{:.2f}", task.ranking.tau),
        task.ties.empty() ? "" : fmt::format("  tie of {}", task.ties.size() + 1),
        task.disturbed ? "  disturbed" : "");
  }
  const std::string metric = job.tasks.empty() ? "seconds" : job.tasks.front().metric;
  text += fmt::format("{:<38} {:>4} {:>12} {:>12} {:>8}\n", "all, as often as they are used", "",
                      ShortValue(metric, job.default_total()), ShortValue(metric, job.best_total()),
                      SpeedupText(job.default_total(), job.best_total()));
}

/// Of a job with several metrics.
void AppendFronts(const JobPage& job, std::string& text) {
  std::size_t shown = 0;
  for (const TaskPage& task : job.tasks) {
    if (task.front.empty() || ++shown > kShownTasks) continue;
    text += fmt::format("{}{:<38} {} on the front\n", shown == 1 ? "\n" : "", task.name,
                        task.front.size());
    for (std::size_t i = 0; i < task.front.size() && i <= kShownOfFront; ++i) {
      if (i == kShownOfFront) {
        text += fmt::format("  … and {} more\n", task.front.size() - kShownOfFront);
        break;
      }
      const FrontRow& row = task.front[i];
      for (std::size_t m = 0; m < task.metrics.size(); ++m) {
        text += fmt::format(" {:>14}", ShortValue(task.metrics[m], row.values[m]));
      }
      text += fmt::format("  {} {}\n", row.template_key, row.config);
    }
  }
}

void AppendJob(const JobPage& job, std::string& text) {
  text +=
      fmt::format("{}: job {}{}\n", job.store, job.name, job.graph.empty() ? "" : ", " + job.graph);
  text += fmt::format("on {}, target {}\n", job.device, job.target);
  text += fmt::format("{} trials in {} ({:.1f}/s), {} failed, {} disturbed{}\n", job.trials,
                      ShortDuration(job.wall_seconds),
                      job.wall_seconds > 0 ? static_cast<double>(job.trials) / job.wall_seconds : 0,
                      job.trials - job.ok, job.disturbed,
                      job.pauses > 0 ? fmt::format("; {} pauses of {} left out", job.pauses,
                                                   ShortDuration(job.pause_seconds))
                                     : "");
  if (const TimePage& time = job.time; time.known()) {
    text += fmt::format(
        "time: running {:.0f} % (timing {:.0f} %), building {:.0f} %, learning {:.0f} %, idle "
        "{:.1f} %\n",
        Percent(time.running_seconds, time.wall), Percent(time.timing_seconds, time.wall),
        Percent(time.building_seconds, time.wall), Percent(time.learning_seconds, time.wall),
        Percent(time.idle_seconds, time.wall));
  }
  AppendTasks(job, text);
  AppendFronts(job, text);
  std::size_t shown = 0;
  for (const Failure& failure : job.failures) {
    if (++shown > kShownFailures) {
      text += fmt::format("… and {} more kinds of failure\n", job.failures.size() - kShownFailures);
      break;
    }
    text += fmt::format("{}{} x {}: {}\n  again: {}\n", shown == 1 ? "\n" : "", failure.trials,
                        failure.outcome, failure.reason, failure.reproduce);
  }
}

void AppendComparison(const Comparison& comparison, std::string& text) {
  text +=
      fmt::format("\n{} against {}\n{:<38} {:>4} {:>12} {:>12} {:>7} {:>15}\n", comparison.store,
                  comparison.other, "task", "uses", "this", "other", "ratio", "95 %");
  for (const ComparedTask& task : comparison.tasks) {
    text += fmt::format("{:<38} {:>4} {:>12} {:>12} {:>6.2f}x {:>15}  {}\n", task.name,
                        task.occurrences, ShortValue(task.metric, task.value),
                        ShortValue(task.metric, task.other_value), task.ratio,
                        fmt::format("{:.2f}-{:.2f}", task.low, task.high), task.verdict);
  }
  if (comparison.total > 0) {
    text += fmt::format("{:<38} {:>4} {:>12} {:>12} {:>6.2f}x {:>15}\n", "all of these", "",
                        ShortValue(comparison.metric, comparison.total),
                        ShortValue(comparison.metric, comparison.other_total),
                        comparison.other_total / comparison.total,
                        fmt::format("{:.2f}-{:.2f}", comparison.low, comparison.high));
  }
  if (!comparison.only_here.empty() || !comparison.only_there.empty()) {
    text += fmt::format("{} tasks only in {}, {} only in {}\n", comparison.only_here.size(),
                        comparison.store, comparison.only_there.size(), comparison.other);
  }
}

void AppendNetwork(const NetworkPage& network, std::string& text) {
  double cost = 0, missed = 0;
  std::int64_t unknown = 0;
  for (const NetworkStep& step : network.steps) {
    cost += step.cost;
    missed += step.miss_cost;
    unknown += step.cost > 0 ? 0 : 1;
  }
  text += fmt::format("\n{}: {} steps, {} by records and estimates", network.graph,
                      network.steps.size(), ShortValue(network.metric, cost));
  if (unknown > 0) text += fmt::format(" ({} steps unknown)", unknown);
  for (const auto& [answer, steps] : network.coverage)
    text += fmt::format(", {} {}", steps, answer);
  text += fmt::format("; {} layout changes; {:.1f} MB memory\n", network.layout_changes,
                      1e-6 * static_cast<double>(network.arena_bytes));
  if (missed > 0) {
    text += fmt::format("untuned operators are expected to cost {} more than tuned ones\n",
                        ShortValue(network.metric, missed));
  }
}

void AppendBench(const BenchPage& bench, std::string& text) {
  if (!text.empty()) text += "\n";
  text += fmt::format("{}: {}, {} cores; {}; commit {}; median of {} rounds{}\n", bench.file,
                      bench.cpu, bench.cores, bench.date, bench.commit, bench.rounds,
                      bench.load ? fmt::format("; load before {:g}", *bench.load) : "");
  text += bench.compared_with.empty()
              ? "nothing to compare with: the first table of this CPU\n"
              : fmt::format("compared with {} (commit {}): {} slower, {} faster, {} of {} new\n",
                            bench.compared_with, bench.compared_commit, bench.CountOf("slower"),
                            bench.CountOf("faster"), bench.CountOf("new"), bench.rows.size());
  std::string group;
  for (const BenchRow& row : bench.rows) {
    if (row.group != group) text += "\n" + row.group + "\n";
    group = row.group;
    text += fmt::format("  {:<44} {:>11.5g} {:<3}  noise {:>5.1f} %", row.name, row.value, row.unit,
                        100 * row.noise);
    if (row.before && row.change) {
      text += fmt::format("  was {:>11.5g}  {:>+6.1f} %{}", *row.before, 100 * *row.change,
                          row.verdict == "same" ? "" : "  " + row.verdict);
    }
    text += "\n";
  }
  for (const std::string& name : bench.gone) text += "gone: " + name + "\n";
}

}  // namespace

std::string ToText(const Document& document) {
  std::string text;
  for (const JobPage& job : document.jobs) {
    if (!text.empty()) text += "\n";
    AppendJob(job, text);
  }
  if (document.comparison) AppendComparison(*document.comparison, text);
  if (document.network) AppendNetwork(*document.network, text);
  if (document.bench) AppendBench(*document.bench, text);
  for (const std::string& line : document.missing) text += "\nnot known: " + line + "\n";
  return Printable(text, true);
}

}  // namespace tilewright::report
