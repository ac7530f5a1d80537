#include "src/report/document_text.h"

#include <fmt/format.h>

#include "src/base/format_printable.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/optimize/report_text.h"
#include "src/session/format.h"
#include "src/session/text_table.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kShownFailures = 8;
constexpr std::size_t kShownTasks = 40;
constexpr std::size_t kShownOfFront = 12;

using session::ShortDuration;
using session::ShortValue;

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string SpeedupText(double before, double after) {
  return before > 0 && after > 0 ? FormatPrintable("{:.2f}x", before / after) : "-";
}

std::string TimeCell(const TaskPage& task, double value, bool noisy) {
  return value > 0 ? (noisy ? "~" : "") + ShortValue(task.metric, value) : "-";
}

/// Returns a table of this width. Text in its cells is printable.
session::TextTable MakeTable(std::vector<session::TextTable::Column> columns, int width) {
  return session::TextTable(std::move(columns), width);
}

void AppendTasks(const JobPage& job, int width, std::string& text) {
  constexpr int kWithTau = 100;
  const bool tau = width == 0 || width >= kWithTau;
  std::vector<session::TextTable::Column> columns = {
      {"task", false, 20}, {"uses", true},   {"default", true}, {"best", true},
      {"gain", true},      {"roofl.", true}, {"trials", true},  {"ties", true}};
  if (tau) columns.push_back({"tau", true});
  session::TextTable table = MakeTable(std::move(columns), width);
  std::size_t shown = 0;
  bool noisy = false;
  for (const TaskPage& task : job.tasks) {
    if (++shown > kShownTasks) {
      table.AddLines(fmt::format("… and {} more", job.tasks.size() - kShownTasks));
      break;
    }
    noisy = noisy || task.noisy;
    std::vector<std::string> cells = {
        Printable(task.name),
        std::to_string(task.occurrences),
        TimeCell(task, task.default_value, false),
        TimeCell(task, task.best_value, task.noisy),
        SpeedupText(task.default_value, task.best_value),
        session::RooflineShareText(task.roofline.bound, task.best_value),
        std::to_string(task.trials),
        task.ties.empty() ? "" : std::to_string(task.ties.size() + 1)};
    if (tau) {
      cells.push_back(task.ranking.windows.empty() ? "-" : fmt::format("{:.2f}", task.ranking.tau));
    }
    table.AddRow(std::move(cells));
  }
  const std::string metric = job.tasks.empty() ? "seconds" : job.tasks.front().metric;
  const search::NetworkTimes times = job.Times();
  table.AddRow({session::AllTasksText(times), "", ShortValue(metric, times.standard),
                ShortValue(metric, times.best), SpeedupText(times.standard, times.best)});
  text += "\n" + table.Take();
  if (noisy) text += "~ disturbed: measured in noise\n";
}

/// Appends the fronts of a job with several metrics.
void AppendFronts(const JobPage& job, std::string& text) {
  std::size_t shown = 0;
  for (const TaskPage& task : job.tasks) {
    if (task.front.empty() || ++shown > kShownTasks) continue;
    text += FormatPrintable("{}{:<38} {} on the front\n", MultilineText{shown == 1 ? "\n" : ""},
                            task.name, task.front.size());
    for (std::size_t i = 0; i < task.front.size() && i <= kShownOfFront; ++i) {
      if (i == kShownOfFront) {
        text += FormatPrintable("  … and {} more\n", task.front.size() - kShownOfFront);
        break;
      }
      const FrontRow& row = task.front[i];
      for (std::size_t m = 0; m < task.metrics.size(); ++m) {
        text += FormatPrintable(" {:>14}", ShortValue(task.metrics[m], row.values[m]));
      }
      text += FormatPrintable("  {} {}\n", row.template_key, row.config);
    }
  }
}

void AppendJob(const JobPage& job, int width, std::string& text) {
  text += FormatPrintable("{}: job {}{}\n", job.store, job.name,
                          job.graph.empty() ? "" : ", " + job.graph);
  text += FormatPrintable("on {}, target {}\n", job.device, job.target);
  text += FormatPrintable(
      "{} in {} ({:.1f}/s), {} failed, {} disturbed{}\n", Counted(job.trials, "trial"),
      ShortDuration(job.time.known() ? job.time.wall : job.wall_seconds), job.TrialsPerSecond(),
      job.trials - job.ok, job.noisy,
      job.pauses > 0 ? FormatPrintable("; {} of {} left out", Counted(job.pauses, "pause"),
                                       ShortDuration(job.pause_seconds))
                     : "");
  if (const TimePage& time = job.time; time.known()) {
    text += FormatPrintable(
        "time, activities overlap: running {:.0f} % (timing {:.0f} %), building {:.0f} %, "
        "learning {:.0f} %; idle {:.1f} %\n",
        Percent(time.running_seconds, time.wall), Percent(time.timing_seconds, time.wall),
        Percent(time.building_seconds, time.wall), Percent(time.learning_seconds, time.wall),
        Percent(time.idle_seconds, time.wall));
  }
  AppendTasks(job, width, text);
  AppendFronts(job, text);
  std::size_t shown = 0;
  for (const Failure& failure : job.failures) {
    if (++shown > kShownFailures) {
      text +=
          FormatPrintable("… and {} more kinds of failure\n", job.failures.size() - kShownFailures);
      break;
    }
    text += FormatPrintable("{}{} x {}: {}\n", MultilineText{shown == 1 ? "\n" : ""},
                            failure.trials, failure.outcome, failure.reason);
    // Nothing measures a config of an open task again but its own job.
    if (!failure.reproduce.empty()) text += FormatPrintable("  again: {}\n", failure.reproduce);
  }
}

void AppendComparison(const Comparison& comparison, int width, std::string& text) {
  text += FormatPrintable("\n{} against {}\n", comparison.store, comparison.other);
  session::TextTable table = MakeTable({{"task", false, 20},
                                        {"uses", true},
                                        {"this", true},
                                        {"other", true},
                                        {"ratio", true},
                                        {"95 %", true},
                                        {""}},
                                       width);
  const auto range = [](double low, double high) {
    return fmt::format("{:.2f}-{:.2f}", low, high);
  };
  for (const ComparedTask& task : comparison.tasks) {
    table.AddRow({Printable(task.name), std::to_string(task.occurrences),
                  ShortValue(task.metric, task.value), ShortValue(task.metric, task.other_value),
                  fmt::format("{:.2f}x", task.ratio), range(task.low, task.high),
                  Printable(task.verdict)});
  }
  if (comparison.total > 0) {
    table.AddRow({"all of these", "", ShortValue(comparison.metric, comparison.total),
                  ShortValue(comparison.metric, comparison.other_total),
                  fmt::format("{:.2f}x", comparison.other_total / comparison.total),
                  range(comparison.low, comparison.high)});
  }
  text += table.Take();
  if (!comparison.only_here.empty() || !comparison.only_there.empty()) {
    text += FormatPrintable("{} only in {}, {} only in {}\n",
                            Counted(std::ssize(comparison.only_here), "task"), comparison.store,
                            comparison.only_there.size(), comparison.other);
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
  text +=
      FormatPrintable("\n{}: {}, {} by records and estimates", network.graph,
                      Counted(std::ssize(network.steps), "step"), ShortValue(network.metric, cost));
  if (unknown > 0) text += FormatPrintable(" ({} unknown)", Counted(unknown, "step"));
  for (const auto& [answer, steps] : network.coverage)
    text += FormatPrintable(", {} {}", steps, answer);
  text += FormatPrintable("; {} layout changes; {:.1f} MB memory\n", network.layout_changes,
                          1e-6 * static_cast<double>(network.arena_bytes));
  if (missed > 0) {
    text += FormatPrintable("untuned operators are expected to cost {} more than tuned ones\n",
                            ShortValue(network.metric, missed));
  }
}

void AppendFormats(const FormatsPage& page, int width, std::string& text) {
  if (!text.empty()) text += "\n";
  text += FormatPrintable("{}: job {}{}\non {}, target {}\n{}\n\n", page.store, page.job,
                          page.graph.empty() ? "" : ", " + page.graph, page.device, page.target,
                          optimize::ChoiceText(page.search));
  text += optimize::TablesText(page.search, width) + "\n";
  session::TextTable table =
      MakeTable({{"bound"}, {"time", true}, {"predicted", true}, {"formats"}}, width);
  for (const optimize::BoundCost& cost : page.bounds) {
    const optimize::Combination* one =
        cost.combination ? &page.search.combinations[*cost.combination] : nullptr;
    table.AddRow({cost.bound.ToString(), one != nullptr ? fmt::format("{:.3f}", one->ratio) : "-",
                  cost.predicted_ratio ? fmt::format("{:.3f}", *cost.predicted_ratio) : "-",
                  one != nullptr ? optimize::CountsText(one->formats) : ""});
  }
  text += table.Take();
}

void AppendBench(const BenchPage& bench, std::string& text) {
  if (!text.empty()) text += "\n";
  text += FormatPrintable("{}: {}, {} cores; {}; commit {}; median of {} rounds{}\n", bench.file,
                          bench.cpu, bench.cores, bench.date, bench.commit, bench.rounds,
                          bench.load ? FormatPrintable("; load before {:g}", *bench.load) : "");
  text +=
      bench.compared_with.empty()
          ? "nothing to compare with: the first table of this CPU\n"
          : FormatPrintable("compared with {} (commit {}): {} slower, {} faster, {} of {} new\n",
                            bench.compared_with, bench.compared_commit, bench.CountOf("slower"),
                            bench.CountOf("faster"), bench.CountOf("new"), bench.rows.size());
  std::string group;
  for (const BenchRow& row : bench.rows) {
    if (row.group != group) text += FormatPrintable("\n{}\n", row.group);
    group = row.group;
    text += FormatPrintable("  {:<44} {:>11.5g} {:<3}  noise {:>5.1f} %", row.name, row.value,
                            row.unit, 100 * row.noise);
    if (row.before && row.change) {
      text += FormatPrintable("  was {:>11.5g}  {:>+6.1f} %{}", *row.before, 100 * *row.change,
                              row.verdict == "same" ? "" : "  " + row.verdict);
    }
    text += "\n";
  }
  for (const std::string& name : bench.gone) text += FormatPrintable("gone: {}\n", name);
}

}  // namespace

std::string ToText(const Document& document, int width) {
  std::string text;
  for (const JobPage& job : document.jobs) {
    if (!text.empty()) text += "\n";
    AppendJob(job, width, text);
  }
  for (const FormatsPage& page : document.formats) AppendFormats(page, width, text);
  if (document.comparison) AppendComparison(*document.comparison, width, text);
  if (document.network) AppendNetwork(*document.network, text);
  if (document.bench) AppendBench(*document.bench, text);
  for (const std::string& line : document.missing) text += FormatPrintable("\nnote: {}\n", line);
  return Printable(text, true);
}

}  // namespace tilewright::report
