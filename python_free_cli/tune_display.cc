// Progress and closing table of a tuning job: lines that are redrawn on a terminal, or one line for
// each improvement in a log.

#include "python_free_cli/tune_display.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "python_free_cli/print.h"
#include "python_free_cli/progress.h"
#include "src/base/printable.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright::cli {

using session::AllTasksText;
using session::RooflineShareText;
using session::ShortDuration;
using session::ShortName;
using session::ShortSeconds;
using session::ShortValue;

namespace {

// Redrawing more often would flicker.
constexpr double kRedrawSeconds = 0.2;

// Above 100 % plus clock resolution: the roofline was measured too low.
constexpr double kBeyondRoofline = 105;
constexpr std::size_t kMaxLines = 16;  // of tasks on a terminal
constexpr double kJobLineSeconds = 60;
constexpr int kJobBarWidth = 20;
// An idle machine has a better resolution.
constexpr double kCoarse = 0.05;

/// Returns the percentage of the roofline that the best config reaches.
double ShareOf(const RooflineBound& bound, const search::TaskReport& task) {
  const double least = bound.LowerBound(task.best_product_share);
  return task.best_seconds > 0 ? 100 * least / task.best_seconds : 0;
}

std::string ShareText(const RooflineBound& bound, const search::TaskReport& task) {
  return RooflineShareText(bound.LowerBound(task.best_product_share), task.best_seconds);
}

/// Returns the speed of a task for the display: GFLOP/s, or the value itself.
std::string Speed(std::string_view metric, const search::TaskReport& task, double value) {
  return metric == "seconds" ? fmt::format("{:.1f}", task.gflops(value))
                             : ShortValue(metric, value);
}

}  // namespace

TuneDisplay::TuneDisplay(std::string metric, std::vector<RooflineBound> bounds,
                         std::vector<std::string> names, bool terminal, Clock& clock)
    : metric_(std::move(metric)),
      bounds_(std::move(bounds)),
      names_(std::move(names)),
      tasks_(names_.size()),
      terminal_(terminal),
      clock_(clock),
      touched_(names_.size(), 0),
      begun_(clock.MonotonicSeconds()),
      last_line_(begun_) {}

std::string TuneDisplay::Line(const search::TaskReport& task, int task_index) const {
  const auto i = static_cast<std::size_t>(task_index);
  const double share = ShareOf(bounds_[i], task);
  return fmt::format("[{:>2}/{}] {:<38} {:>5} trials  now {:>7}  best {:>7}{}  {:>6}",
                     task_index + 1, names_.size(), names_[i], task.trials,
                     Speed(metric_, task, task.current_seconds),
                     Speed(metric_, task, task.best_seconds),
                     metric_ == "seconds" ? " GFLOP/s" : "", ShareText(bounds_[i], task)) +
         (metric_ == "seconds" && share > kBeyondRoofline ? " of a roofline measured in noise"
                                                          : "") +
         (task.noisy ? "  disturbed" : "");
}

void TuneDisplay::Resumed(std::int64_t trials) {
  resumed_ = trials;
  if (trials > 0) PrintErr("going on with a job that has {} trials\n", trials);
}

void TuneDisplay::LogDiscarded(const std::string& why) {
  PrintErr(
      "this job's log does not replay any more ({}): its trials stay in the store, and a new "
      "log begins\n",
      why);
}

void TuneDisplay::StaleFirst(const search::TaskReport& /*task*/, int task_index,
                             std::int64_t configs) {
  // Print above the redrawn lines, which follow again.
  if (drawn_lines_ > 0) WriteToTerminal(fmt::format("\x1b[{}A\x1b[J", drawn_lines_));
  drawn_lines_ = 0;
  last_draw_ = -1;
  PrintErr(
      "{}: its records of other versions are not served; the fastest of their configs ({}) "
      "are measured first\n",
      names_[static_cast<std::size_t>(task_index)], configs);
}

void TuneDisplay::TrialDone(const search::TaskReport& task, int task_index, const Trial& trial,
                            double eta_seconds) {
  const auto i = static_cast<std::size_t>(task_index);
  const bool improved = trial.outcome == Outcome::kOk && task.best_seconds == trial.value;
  tasks_[i] = task;
  touched_[i] = ++done_;
  last_eta_ = eta_seconds;
  if (terminal_) {
    Redraw(eta_seconds);
    return;
  }
  if (improved) {
    PrintErr("{}  eta {}\n", Line(task, task_index),
             eta_seconds > 0 ? ShortDuration(eta_seconds) : "-");
  }
  const double now = clock_.MonotonicSeconds();
  if (now - last_line_ < kJobLineSeconds) return;
  last_line_ = now;
  PrintErr("job: {}\n", JobLine(ShareDone(eta_seconds), eta_seconds, TrialsPerSecond()));
}

double TuneDisplay::ShareDone(double eta_seconds) const {
  if (limit_ > 0) {
    return std::min(1.0, static_cast<double>(resumed_ + done_) / static_cast<double>(limit_));
  }
  const double passed = clock_.MonotonicSeconds() - begun_;
  return passed + eta_seconds > 0 ? passed / (passed + eta_seconds) : 0;
}

double TuneDisplay::TrialsPerSecond() const {
  const double passed = clock_.MonotonicSeconds() - begun_;
  return passed > 0 ? static_cast<double>(done_) / passed : 0;
}

std::string TuneDisplay::JobLine(double share, double eta_seconds, double trials_per_second) const {
  const search::NetworkTimes times = search::TimesOfNetwork(tasks_);
  const std::string which =
      times.without == 0 ? "all" : fmt::format("{} of {} tasks", times.with, tasks_.size());
  // 99.9 % is not complete.
  const double percent = share < 1 ? std::min(99.0, std::floor(100 * share)) : 100;
  return fmt::format("{:.0f} %  eta {}  {} {} (default {})  {:.1f} trials/s", percent,
                     eta_seconds > 0 ? ShortDuration(eta_seconds) : "-", which,
                     ShortValue(metric_, times.best), ShortValue(metric_, times.standard),
                     trials_per_second);
}

std::vector<std::size_t> TuneDisplay::Shown() const {
  std::vector<std::size_t> shown(tasks_.size());
  std::iota(shown.begin(), shown.end(), 0);
  if (shown.size() <= kMaxLines) return shown;
  std::ranges::stable_sort(shown, std::greater(), [this](std::size_t i) { return touched_[i]; });
  shown.resize(kMaxLines);
  std::ranges::sort(shown);
  return shown;
}

void TuneDisplay::TaskFinished(const search::TaskReport& task, int task_index) {
  tasks_[static_cast<std::size_t>(task_index)] = task;
  if (!terminal_) PrintErr("{}  {}\n", Line(task, task_index), task.finish_reason);
}

void TuneDisplay::Redraw(double eta_seconds) {
  const double now = clock_.MonotonicSeconds();
  if (last_draw_ >= 0 && now - last_draw_ < kRedrawSeconds) return;
  last_draw_ = now;
  Draw(ShareDone(eta_seconds), eta_seconds, TrialsPerSecond());
}

void TuneDisplay::Draw(double share, double eta_seconds, double trials_per_second) {
  std::string text = drawn_lines_ > 0 ? fmt::format("\x1b[{}A", drawn_lines_) : "";
  const std::vector<std::size_t> shown = Shown();
  for (const std::size_t i : shown) {
    text += "\x1b[2K" + Printable(Line(tasks_[i], static_cast<int>(i)));
    if (tasks_[i].finished) text += tasks_[i].finish_reason == "stopped" ? "  stopped" : "  done";
    text += "\n";
  }
  text += "\x1b[2K" + ProgressBar(share, kJobBarWidth) + " " +
          JobLine(share, eta_seconds, trials_per_second) + "\n";
  drawn_lines_ = static_cast<int>(shown.size()) + 1;
  WriteToTerminal(text);
}

double TuneDisplay::Finish(const search::TuneReport& report) {
  const double share = report.interrupted ? ShareDone(last_eta_) : 1;
  if (!terminal_) return share;
  tasks_ = report.tasks;
  Draw(share, 0, report.trials_per_second);
  return share;
}

void PrintReport(const search::TuneReport& report, const std::vector<std::string>& names,
                 const std::vector<RooflineBound>& bounds, double share_done) {
  const bool timed = report.metric == "seconds";
  PrintOut("\n{:<38} {:>4} {:>14} {:>14} {:>8} {:>9} {:>7} {:>7}\n", "task", "uses", "default",
           "best", timed ? "speed-up" : "ratio", timed ? "GFLOP/s" : "", "roofl.", "trials");
  std::map<std::string, std::int64_t> failures;
  int noisy = 0, beyond = 0, worse = 0;
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    const search::TaskReport& task = report.tasks[i];
    const bool both = task.default_seconds > 0 && task.best_seconds > 0;
    PrintOut(
        "{:<38} {:>4} {:>14} {:>14} {:>8} {:>9} {:>7} {:>7}{}\n", names[i], task.occurrences,
        ShortValue(report.metric, task.default_seconds),
        ShortValue(report.metric, task.best_seconds),
        both ? fmt::format("{:.2f}x", task.default_seconds / task.best_seconds) : "-",
        timed ? Speed(report.metric, task, task.best_seconds) : "", ShareText(bounds[i], task),
        task.trials,
        (task.front.empty() ? "" : fmt::format("  {} on the front", task.front.size())) +
            (task.ties.empty() ? "" : "  " + search::TieText(task.ties.size())) +
            (task.noisy ? "  disturbed" : "") +
            (search::IsWorse(task) ? "  was " + ShortValue(report.metric, task.earlier_best_seconds)
                                   : ""));
    noisy += task.noisy ? 1 : 0;
    worse += search::IsWorse(task) ? 1 : 0;
    beyond += timed && ShareOf(bounds[i], task) > kBeyondRoofline ? 1 : 0;
    for (const auto& [reason, count] : task.failures) failures[reason] += count;
  }
  const search::NetworkTimes times = search::TimesOfNetwork(report.tasks);
  PrintOut("{:<38} {:>4} {:>14} {:>14} {:>8}\n", AllTasksText(times), "",
           ShortValue(report.metric, times.standard), ShortValue(report.metric, times.best),
           times.best > 0 ? fmt::format("{:.2f}x", times.standard / times.best) : "-");
  std::string failed;
  for (const auto& [reason, count] : failures) failed += fmt::format(" {} {}", count, reason);
  PrintOut("\n{} trials, {:.1f}/s; failed:{}; device tells differences of {:.1f} %\n",
           report.trials, report.trials_per_second, failed.empty() ? " none" : failed,
           100 * report.resolution);
  const measure::TimeSplit& split = report.split;
  const double wall = split.wall_seconds > 0 ? split.wall_seconds : 1;
  PrintOut(
      "time {}: device busy {:.0f} % (timing {:.0f} %), build {:.0f} %, model {:.0f} %, "
      "idle {:.1f} %\n",
      ShortDuration(report.wall_seconds), 100 * split.runner_busy_seconds / wall,
      100 * split.runner_timing_seconds / wall, 100 * split.builder_busy_seconds / wall,
      100 * report.model_seconds / wall, 100 * report.idle_share());
  if (noisy > 0) {
    PrintOut(
        "disturbed: {} of {} tasks met no quiet moment in their race: their times may be too long, "
        "the order of their configs holds; the same command with more trials races them again\n",
        noisy, report.tasks.size());
  }
  if (worse > 0) {
    PrintOut(
        "was: {} of {} tasks have a slower best than after the earlier run, since their finalists "
        "were measured again, side by side; only times of one race compare with each other\n",
        worse, report.tasks.size());
  }
  if (beyond > 0) {
    PrintOut(
        "roofl. above 105 %: the roofline was measured in noise, too, and is higher than it "
        "says\n");
  }
  if (timed && report.resolution > kCoarse) {
    PrintOut(
        "the device was calibrated in noise: that it tells differences of {:.0f} % only says how "
        "it "
        "was then; races tell smaller ones\n",
        100 * report.resolution);
  }
  if (report.interrupted) {
    PrintOut(
        "stopped at {:.0f} %; the same command goes on from here. No race was run: best times are "
        "those of the last race, or of single trials\n",
        std::min(99.0, std::floor(100 * share_done)));
  }
}

}  // namespace tilewright::cli
