// Texts of a tuning job. Tables are laid out by columns of a terminal
// (src/base/text/text_columns.h).

#include "src/report/tune/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "src/base/printable.h"
#include "src/base/shell/quote.h"
#include "src/base/strings.h"
#include "src/base/text/plural.h"
#include "src/base/text/text_columns.h"
#include "src/session/format.h"
#include "src/session/text_table.h"

namespace tilewright::report {

using session::ShortDuration;

namespace {

constexpr double kGained = 1.02;        // a smaller ratio is no gain
constexpr double kClearlyGained = 1.1;  // printed in colour
constexpr double kNoHeadroom = 0.9;     // share of the roofline where little is left
// Above 100 % plus clock resolution: the roofline was measured too low.
constexpr double kBeyondRoofline = 1.05;
// An idle machine has a better resolution.
constexpr double kCoarse = 0.05;

// Widths of the columns of tables, blanks before them included.
constexpr int kNumberColumns = 5, kTime = 10, kGain = 7, kShare = 7, kTrials = 7, kUses = 5,
              kTies = 5;
constexpr int kUsefulName = 22;

double LeastOf(const RooflineBound& bound, const search::TaskReport& task) {
  return bound.LowerBound(task.best_product_share);
}

std::string ShareText(double least, double value) {
  return least > 0 && value > 0 ? fmt::format("{:.0f} %", 100 * least / value) : "";
}

std::string Cell(std::string_view text, int width) { return PadLeftToColumns(text, width); }

/// Returns what a task does now.
StyledText StateOf(std::string_view metric, const TaskLine& line) {
  const search::TaskReport& task = *line.task;
  if (!line.state.empty()) return {std::string(line.state), TextStyle::kBold};
  if (task.finished) {
    return {task.finish_reason == "stopped" ? "stopped" : "done", TextStyle::kDim};
  }
  if (task.trials == 0) return {};
  if (task.current_seconds <= 0) return {"failed", TextStyle::kWarning};
  return {TimeText(metric, task.current_seconds), TextStyle::kDim};
}

/// Appends a row of a table, without blanks at its end.
void AppendRow(std::string row, std::string& out) {
  row.erase(row.find_last_not_of(' ') + 1);
  out += row + "\n";
}

void AppendParagraph(std::string_view text, std::string& out) {
  for (const std::string& line : WrapToColumns(text, session::TextWidth() - 1)) out += line + "\n";
}

/// Returns the share of uses x default time that the bounds are: how near the defaults are to them.
double DefaultShare(const ClosingReport& closing) {
  double bound = 0, standard = 0;
  for (std::size_t i = 0; i < closing.report->tasks.size(); ++i) {
    const search::TaskReport& task = closing.report->tasks[i];
    const double least = LeastOf(closing.bounds[i], task);
    if (least <= 0 || task.default_seconds <= 0) continue;
    bound += static_cast<double>(task.occurrences) * std::min(least, task.default_seconds);
    standard += static_cast<double>(task.occurrences) * task.default_seconds;
  }
  return standard > 0 ? bound / standard : 0;
}

/// Returns why tasks have no time, by reason.
std::map<std::string, std::int64_t> UntimedReasons(const search::TuneReport& report) {
  std::map<std::string, std::int64_t> reasons;
  for (const search::TaskReport& task : report.tasks) {
    if (task.best_seconds > 0) continue;
    if (!task.no_result_reason.empty()) {
      ++reasons[task.no_result_reason];
    } else if (task.trials == 0) {
      ++reasons["not measured before the job ended"];
    } else {
      ++reasons["no trial gave a correct result"];
    }
  }
  return reasons;
}

/// Returns how the next command gives the job more trials: "a larger --budget".
std::string MoreOf(const ClosingReport& closing) {
  const search::JobSettings* settings = closing.settings;
  if (settings == nullptr || settings->trials > 0) return "a larger --trials";
  return settings->budget_seconds > 0 ? "a larger --budget" : "a later --deadline";
}

/// Formats the smallest difference that a device can resolve: "0.8 %".
std::string ResolutionText(double resolution) {
  constexpr double kPrinted = 0.001;  // the smallest value of one decimal
  if (resolution < kPrinted) return "below 0.1 %";
  return fmt::format("{:.1f} %", 100 * resolution);
}

/// Returns why the search ended, where the next command depends on it.
std::string EndReason(const ClosingReport& closing) {
  const search::TuneReport& report = *closing.report;
  const bool nothing_new = report.trials_this_run == 0;
  if (report.interrupted) {
    const bool timed = search::TimesOfNetwork(report.tasks).with > 0;
    return fmt::format("Stopped at {:.0f} %: the same command resumes the job.{}",
                       std::min(99.0, std::floor(100 * closing.share_done)),
                       timed ? " No final race was run, so best times are those of the last race, "
                               "or of single trials."
                             : "");
  }
  const search::JobSettings* settings = closing.settings;
  if (report.end == "trials" && settings != nullptr) {
    if (report.trials > settings->trials) {
      return fmt::format(
          "{} are done, --trials {} allows no more; a larger number continues the job.",
          Counted(report.trials, "trial"), settings->trials);
    }
    return fmt::format("{} of --trials {}; a larger number continues the job.",
                       Counted(settings->trials, "trial"),
                       settings->trials == 1 ? "is done" : "are done");
  }
  if (report.end == "budget" && nothing_new && settings != nullptr) {
    return fmt::format(
        "Nothing was measured: the budget of {} is used up, earlier runs of this job took {}. A "
        "larger --budget continues the job.",
        ShortDuration(settings->budget_seconds), ShortDuration(report.elapsed_seconds));
  }
  if (report.end == "deadline" && nothing_new) {
    return "Nothing was measured: the deadline left no time for a trial.";
  }
  if (report.end == "exhausted") {
    return nothing_new ? "Nothing is left to do: every config of every task was measured before."
                       : "Every config of every task was measured: more time changes nothing.";
  }
  if (report.end == "no improvement") {
    const std::string trials =
        settings != nullptr ? fmt::format("{} ", settings->early_stop_trials) : "";
    return fmt::format(
        "{}no task improved in its last {}trials (or has no config left); a larger "
        "early_stop_trials in a job file searches longer.",
        nothing_new ? "Nothing is left to do: " : "The search stopped: ", trials);
  }
  return "";
}

/// Returns why the network gained nothing; empty if it did.
std::string GainReason(const ClosingReport& closing) {
  const search::TuneReport& report = *closing.report;
  const search::NetworkTimes times = search::TimesOfNetwork(report.tasks);
  if (times.with == 0 || times.best * kGained < times.standard) return "";
  const double share = DefaultShare(closing);
  const std::int64_t tasks = std::ssize(report.tasks);
  const std::int64_t least = 16 * tasks;  // trials after which a search usually finds something
  std::string reason = "Nothing was gained over the default configs: ";
  // The share is that of the tasks with a time only.
  if (share >= kNoHeadroom && times.with > times.without) {
    return reason + fmt::format("they are at {:.0f} % of the roofline, which no config can exceed.",
                                std::min(100.0, 100 * share));
  }
  if (report.trials < least) {
    reason += fmt::format("{} for {} {} too few, {} or more usually find better configs ({}).",
                          Counted(report.trials, "trial"), Counted(tasks, "task"),
                          report.trials == 1 ? "is" : "are", least, MoreOf(closing));
    if (share > 0) {
      reason += fmt::format(" The default configs are at {:.0f} % of the roofline.", 100 * share);
    }
    return reason;
  }
  if (share > 0) {
    return reason +
           fmt::format("they are at {:.0f} % of the roofline, and {} found nothing faster.",
                       100 * share, Counted(report.trials, "trial"));
  }
  return reason + Counted(report.trials, "trial") + " found nothing better.";
}

}  // namespace

std::string PlainText(const StyledLine& line) {
  std::string text;
  for (const StyledText& part : line) text += part.text;
  return text;
}

std::string TimeText(std::string_view metric, double value) {
  if (value <= 0) return "";
  std::string text = session::ShortValue(metric, value);
  // "455.3 kcycles": the note below the table names the unit.
  const std::size_t unit = text.find(' ');
  if (text.ends_with(metric) && unit != std::string::npos)
    text = text.substr(0, unit) + text[unit + 1];
  return text;
}

std::string GainText(double before, double after) {
  return before > 0 && after > 0 ? fmt::format("{:.2f}x", before / after) : "";
}

std::string BarText(double share, int width) {
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(width - full), '.') + "]";
}

TaskColumns TaskColumns::Fitting(int columns, int longest_name) {
  const int useful = std::min(longest_name, kUsefulName);
  TaskColumns fitting{0, true, true, true};
  int rest = columns - kNumberColumns - 2 * kTime - kGain - kTrials - kShare;
  if (rest < useful) {
    fitting.roofline = false;
    rest += kShare;
  }
  if (rest < useful) {
    fitting.trials = false;
    rest += kTrials;
  }
  if (rest < useful) {
    fitting.now = false;
    rest += kTime;
  }
  fitting.name = std::clamp(rest, 0, longest_name);
  return fitting;
}

StyledLine TaskHeader(const TaskColumns& columns) {
  std::string text = Cell("#", kNumberColumns - 1) + " " + PadToColumns("task", columns.name) +
                     Cell("best", kTime) + Cell("gain", kGain);
  if (columns.roofline) text += Cell("roofl.", kShare);
  if (columns.trials) text += Cell("trials", kTrials);
  if (columns.now) text += Cell("now", kTime);
  return {{text, TextStyle::kDim}};
}

StyledLine TaskRow(const TaskColumns& columns, std::string_view metric, const TaskLine& line) {
  const search::TaskReport& task = *line.task;
  StyledLine row;
  row.push_back({Cell(fmt::format("{}", line.number), kNumberColumns - 1) + " ", TextStyle::kDim});
  row.push_back({PadToColumns(Printable(line.name), columns.name)});
  const std::string best = TimeText(metric, task.best_seconds);
  row.push_back({Cell(best.empty() ? "" : (task.noisy ? "~" : "") + best, kTime)});
  const bool gained = task.best_seconds * kClearlyGained < task.default_seconds;
  row.push_back({Cell(GainText(task.default_seconds, task.best_seconds), kGain),
                 gained && task.best_seconds > 0 ? TextStyle::kGood : TextStyle::kPlain});
  if (columns.roofline) {
    row.push_back({Cell(ShareText(LeastOf(line.bound, task), task.best_seconds), kShare)});
  }
  if (columns.trials) row.push_back({Cell(fmt::format("{}", task.trials), kTrials)});
  if (columns.now) {
    const StyledText state = StateOf(metric, line);
    row.push_back({Cell(state.text, kTime), state.style});
  }
  return row;
}

namespace {

std::string PercentText(double share) {
  // 99.9 % is not complete.
  const double percent = share < 1 ? std::min(99.0, std::floor(100 * share)) : 100;
  return fmt::format("{:.0f} %", percent);
}

/// Returns "12.3 ms, 1.12x", with the number of tasks that it covers unless it covers all.
std::string NetworkText(std::string_view metric, const std::vector<search::TaskReport>& tasks) {
  const search::NetworkTimes times = search::TimesOfNetwork(tasks);
  if (times.with == 0) return "";
  const std::string which =
      times.without == 0 ? ""
                         : fmt::format("{} of {} ", times.with, Counted(std::ssize(tasks), "task"));
  return fmt::format("{}{} {}", which, TimeText(metric, times.best),
                     GainText(times.standard, times.best));
}

std::string TrialsText(const JobLine& job) {
  return job.limit > 0 ? fmt::format("{}/{}", job.trials, Counted(job.limit, "trial"))
                       : Counted(job.trials, "trial");
}

}  // namespace

StyledLine JobRow(const JobLine& job, std::string_view metric,
                  const std::vector<search::TaskReport>& tasks, int columns) {
  StyledLine row = {{BarText(job.share, columns < kTableColumns - 1 ? 10 : 20) + " "},
                    {PercentText(job.share), TextStyle::kBold}};
  int used = Columns(PlainText(row));
  const auto add = [&](const std::string& text) {
    if (text.empty() || used + 2 + Columns(text) > columns) return;
    row.push_back({"  " + text});
    used += 2 + Columns(text);
  };
  add(job.phase);
  add(job.eta_seconds > 0 ? "eta " + ShortDuration(job.eta_seconds) : "");
  add(NetworkText(metric, tasks));
  add(TrialsText(job));
  add(job.trials_per_second > 0 ? fmt::format("{:.1f}/s", job.trials_per_second) : "");
  return row;
}

std::string TaskLogText(std::string_view metric, const TaskLine& line, std::int64_t tasks) {
  const search::TaskReport& task = *line.task;
  std::string text = fmt::format("[{}/{}] {}  {}", line.number, tasks, Printable(line.name),
                                 Counted(task.trials, "trial"));
  if (task.best_seconds > 0) {
    text += "  best " + TimeText(metric, task.best_seconds);
    const std::string gain = GainText(task.default_seconds, task.best_seconds);
    const std::string share = ShareText(LeastOf(line.bound, task), task.best_seconds);
    if (!gain.empty()) text += "  " + gain;
    if (!share.empty()) text += "  " + share + " of roofline";
  }
  if (task.noisy) text += "  disturbed";
  if (!line.state.empty()) text += "  " + std::string(line.state);
  return text;
}

std::string JobLogText(const JobLine& job, std::string_view metric,
                       const std::vector<search::TaskReport>& tasks) {
  std::string text = "job: " + PercentText(job.share);
  if (job.eta_seconds > 0) text += "  eta " + ShortDuration(job.eta_seconds);
  const std::string network = NetworkText(metric, tasks);
  if (!network.empty()) text += "  " + network;
  return text + fmt::format("  {}  {:.1f}/s", TrialsText(job), job.trials_per_second);
}

namespace {

/// Columns of the closing table: the width of the names, and the columns that have room.
struct ClosingColumns {
  int name = 0;
  bool uses = true, share = true, trials = true, ties = true;
};

/// columns: width of the table; 0: no limit. Leaves columns out before names are cut.
ClosingColumns ClosingColumnsFor(const ClosingReport& closing, int columns) {
  int longest = 20;
  for (const std::string& name : closing.names) {
    longest = std::max(longest, Columns(Printable(name)));
  }
  ClosingColumns fitting;
  fitting.name = longest;
  if (columns == 0) return fitting;
  int rest = columns - 1 - kUses - 2 * kTime - kGain - kShare - kTrials - kTies;
  const auto leave_out = [&](bool ClosingColumns::*column, int width, int useful) {
    if (rest >= useful) return;
    fitting.*column = false;
    rest += width;
  };
  const bool tied = std::ranges::any_of(
      closing.report->tasks, [](const search::TaskReport& task) { return !task.ties.empty(); });
  const int useful = std::min(longest, kUsefulName);
  leave_out(&ClosingColumns::ties, kTies, tied ? useful : longest);
  leave_out(&ClosingColumns::trials, kTrials, useful);
  leave_out(&ClosingColumns::share, kShare, useful);
  leave_out(&ClosingColumns::uses, kUses, useful);
  fitting.name = std::clamp(rest, 1, longest);
  return fitting;
}

void AppendTable(const ClosingReport& closing, int columns, std::string& out) {
  const search::TuneReport& report = *closing.report;
  const ClosingColumns shown = ClosingColumnsFor(closing, columns);
  const std::vector<std::string> names = DistinctCuts(closing.names, shown.name);
  const auto row = [&](std::string_view name, std::string_view uses, std::string_view standard,
                       std::string_view best, std::string_view gain, std::string_view share,
                       std::string_view trials, std::string_view ties) {
    std::string text = PadToColumns(name, shown.name);
    if (shown.uses) text += Cell(uses, kUses);
    text += Cell(standard, kTime) + Cell(best, kTime) + Cell(gain, kGain);
    if (shown.share) text += Cell(share, kShare);
    if (shown.trials) text += Cell(trials, kTrials);
    if (shown.ties) text += Cell(ties, kTies);
    AppendRow(std::move(text), out);
  };
  const auto time = [&report](double value, bool noisy) {
    const std::string text = TimeText(report.metric, value);
    return text.empty() ? "-" : (noisy ? "~" : "") + text;
  };
  row("task", "uses", "default", "best", "gain", "roofl.", "trials", "ties");
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    const search::TaskReport& task = report.tasks[i];
    row(names[i], std::to_string(task.occurrences), time(task.default_seconds, false),
        time(task.best_seconds, task.noisy), GainText(task.default_seconds, task.best_seconds),
        ShareText(LeastOf(closing.bounds[i], task), task.best_seconds), std::to_string(task.trials),
        task.ties.empty() ? "" : std::to_string(task.ties.size() + 1));
    if (search::IsWorse(task)) {
      out += "    was " + TimeText(report.metric, task.earlier_best_seconds) +
             " after the earlier run\n";
    }
    if (!task.front.empty()) {
      out += fmt::format("    {} on the front\n", task.front.size());
    }
  }
  const search::NetworkTimes times = search::TimesOfNetwork(report.tasks);
  const std::string title =
      times.without == 0
          ? "all, uses counted"
          : fmt::format("{} of {}", times.with, Counted(std::ssize(report.tasks), "task"));
  AppendRow(PadToColumns(title, shown.name + (shown.uses ? kUses : 0)) +
                Cell(TimeText(report.metric, times.standard), kTime) +
                Cell(TimeText(report.metric, times.best), kTime) +
                Cell(GainText(times.standard, times.best), kGain),
            out);
}

void AppendFigures(const search::TuneReport& report, std::string& out) {
  std::map<std::string, std::int64_t> failures;
  for (const search::TaskReport& task : report.tasks) {
    for (const auto& [reason, count] : task.failures) failures[reason] += count;
  }
  std::string failed;
  for (const auto& [reason, count] : failures) failed += fmt::format(" {} {}", count, reason);
  if (report.trials_this_run == 0 && report.trials_per_second <= 0) {  // nothing was measured
    return AppendParagraph(fmt::format("{}; failed:{}", Counted(report.trials, "trial"),
                                       failed.empty() ? " none" : failed),
                           out);
  }
  AppendParagraph(fmt::format("{}, {:.1f}/s; failed:{}; smallest difference that can be told: {}",
                              Counted(report.trials, "trial"), report.trials_per_second,
                              failed.empty() ? " none" : failed, ResolutionText(report.resolution)),
                  out);
  const measure::TimeSplit& split = report.split;
  const double wall = split.wall_seconds > 0 ? split.wall_seconds : 1;
  AppendParagraph(
      fmt::format(
          "time {}; of the search, at the same time: device busy {:.0f} % (timing {:.0f} %), "
          "build {:.0f} %, model {:.0f} %; idle {:.1f} %",
          ShortDuration(report.wall_seconds), 100 * split.runner_busy_seconds / wall,
          100 * split.runner_timing_seconds / wall, 100 * split.builder_busy_seconds / wall,
          100 * report.model_seconds / wall, 100 * report.idle_share()),
      out);
}

void AppendNotes(const ClosingReport& closing, std::string& out) {
  const search::TuneReport& report = *closing.report;
  const bool timed = report.metric == "seconds";
  int noisy = 0, beyond = 0, worse = 0, tied = 0;
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    const search::TaskReport& task = report.tasks[i];
    noisy += task.noisy ? 1 : 0;
    worse += search::IsWorse(task) ? 1 : 0;
    tied += task.ties.empty() ? 0 : 1;
    beyond += timed && task.best_seconds > 0 &&
                      LeastOf(closing.bounds[i], task) > kBeyondRoofline * task.best_seconds
                  ? 1
                  : 0;
  }
  if (!timed) AppendParagraph(fmt::format("Values are {}.", report.metric), out);
  if (tied > 0) AppendParagraph("ties: configs that the race could not tell from the best.", out);
  if (noisy > 0) {
    AppendParagraph(fmt::format("~ disturbed: {} of {} {} measured in noise. Their times "
                                "may be too long; the order of their configs holds. To race them "
                                "again, run the same command with {}.",
                                noisy, Counted(std::ssize(report.tasks), "task"),
                                noisy == 1 ? "was" : "were", MoreOf(closing)),
                    out);
  }
  if (worse > 0) {
    AppendParagraph(
        fmt::format("was: {} of {} {} a slower best than after the earlier run: "
                    "their finalists were measured again, and only times of one race "
                    "compare with each other.",
                    worse, Counted(std::ssize(report.tasks), "task"), worse == 1 ? "has" : "have"),
        out);
  }
  if (beyond > 0) {
    AppendParagraph(
        "roofl. above 105 %: the peaks of the machine were measured in noise, too, and are higher "
        "than measured.",
        out);
  }
  if (timed && report.resolution > kCoarse) {
    AppendParagraph(fmt::format("The device was calibrated in noise: that it tells differences of "
                                "{:.0f} % only says how it was then; races tell smaller ones.",
                                100 * report.resolution),
                    out);
  }
}

}  // namespace

std::vector<std::string> DistinctCuts(const std::vector<std::string>& names, int columns) {
  std::vector<std::string> cuts;
  std::map<std::string, std::set<std::string>> by_cut;  // names by what is left of them
  for (const std::string& name : names) {
    cuts.push_back(CutToColumns(Printable(name), columns));
    by_cut[cuts.back()].insert(name);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (by_cut[cuts[i]].size() < 2) continue;
    const std::string number = fmt::format(" #{}", i);
    cuts[i] = CutToColumns(Printable(names[i]), columns - Columns(number)) + number;
  }
  return cuts;
}

int NameColumns(const std::vector<std::string>& names, int others, int columns) {
  int longest = 20;
  for (const std::string& name : names) longest = std::max(longest, Columns(Printable(name)));
  if (columns == 0) return longest;
  return std::min(longest, columns - 1 - others);
}

std::string ClosingText(const ClosingReport& closing, int columns) {
  std::string text = "\n";
  AppendTable(closing, columns, text);
  text += "\n";
  AppendFigures(*closing.report, text);
  AppendNotes(closing, text);
  return text;
}

std::string OutcomeText(const ClosingReport& closing) {
  std::string text;
  const std::string end = EndReason(closing);
  if (!end.empty()) AppendParagraph(end, text);
  for (const auto& [reason, count] : UntimedReasons(*closing.report)) {
    AppendParagraph(
        fmt::format("{} of {} without a time: {}.", count,
                    Counted(std::ssize(closing.report->tasks), "task"), Printable(reason)),
        text);
  }
  const std::string gain = GainReason(closing);
  if (!gain.empty()) AppendParagraph(gain, text);
  return text;
}

std::string NextStepsText(const JobCommand& command) {
  std::string options;
  for (const std::string& word : command.options) options += " " + ShellWord(word);
  const std::string records = " --records " + ShellWord(command.records);
  std::string text = "Next:\n";
  if (!command.model.empty()) {
    const std::string stem = std::filesystem::path(command.model).stem().string();
    text += "  tilewright compile " + ShellWord(command.model) + " -o " +
            ShellWord(stem + (command.folder ? ".vta" : ".so")) + options + records + "\n";
  } else {
    text += "  tilewright query " + ShellWord(command.task) + options + records + "\n";
  }
  return text + "  tilewright report " + ShellWord(command.records) + " -o report.html\n";
}

}  // namespace tilewright::report
