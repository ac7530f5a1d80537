// Texts of a plan: what there is to gain, task by task, and how long the job takes.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/base/text/text_columns.h"
#include "src/report/tune/plan.h"
#include "src/report/tune/text.h"
#include "src/session/format.h"
#include "src/session/text_table.h"

namespace tilewright::report {
namespace {

/// Cells of a row of the table: task, uses, configs, now, roofline, at most, share.
using PlanCells = std::array<std::string, 7>;

/// Columns of the table that fit a width.
struct PlanColumns {
  /// Widths, with the blanks before the cells; 0: left out.
  std::array<int, 7> widths = {0, 5, 9, 11, 10, 8, 7};

  /// columns: width of the table; 0: no limit. Leaves columns out before names get short.
  static PlanColumns Fitting(const std::vector<std::string>& names, int columns) {
    constexpr int kUsefulName = 22;
    constexpr std::array<std::size_t, 3> kLeftOut = {2, 6, 1};  // the first one first
    PlanColumns fitting;
    const auto& widths = fitting.widths;
    const auto name = [&] {
      return NameColumns(names, std::accumulate(widths.begin() + 1, widths.end(), 0), columns);
    };
    const int useful = std::min(kUsefulName, NameColumns(names, 0, 0));
    for (const std::size_t column : kLeftOut) {
      if (name() < useful) fitting.widths[column] = 0;
    }
    fitting.widths[0] = std::max(1, name());
    return fitting;
  }

  std::string Row(const PlanCells& cells) const {
    std::string text = PadToColumns(cells[0], widths[0]);
    for (std::size_t i = 1; i < cells.size(); ++i) text += PadLeftToColumns(cells[i], widths[i]);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }
};

constexpr std::size_t kNamed = 3;  // tasks in the summary
constexpr int kNameWidth = 40;     // of their names
constexpr double kLittle = 0.05;   // relative headroom that is hardly worth a search

void AppendLines(std::string_view text, int indent, std::string& out) {
  for (const std::string& line : WrapToColumns(text, session::TextWidth() - 1, indent))
    out += line + "\n";
}

/// Formats a number of configs: "1234", "432k", "1.2M", "1.2e+09".
std::string CountText(std::int64_t count) {
  const auto number = static_cast<double>(count);
  if (count < 100'000) return fmt::format("{}", count);
  if (count < 1'000'000) return fmt::format("{:.0f}k", number * 1e-3);
  if (count < 1'000'000'000) return fmt::format("{:.1f}M", number * 1e-6);
  return fmt::format("{:.1e}", number);
}

std::string PercentOf(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "";
}

double SumOfHeadroom(const TunePlan& plan) {
  double sum = 0;
  for (const PlannedTask& task : plan.tasks) sum += task.Headroom();
  return sum;
}

/// Returns where the present values come from.
std::string OriginText(const PlanTotals& totals) {
  if (totals.estimated == 0) return "by records";
  if (totals.estimated == totals.with) return "estimated of the default configs";
  return fmt::format("by records, and estimated for {} of {}", totals.estimated,
                     Counted(totals.with, "task"));
}

/// Returns "about 1240 trials in 12m, until no task improves any more", and the use of the limits
/// by earlier runs.
std::string DurationText(const TunePlan& plan) {
  const std::string earlier = plan.earlier_trials > 0 || plan.earlier_seconds > 0
                                  ? fmt::format(" (earlier runs of this job: {} in {})",
                                                Counted(plan.earlier_trials, "trial"),
                                                session::ShortDuration(plan.earlier_seconds))
                                  : "";
  const bool by_limit = plan.ends_by != "no improvement";
  if (plan.trials == 0) {
    return by_limit ? fmt::format("no trial; --{} is used up{}", plan.ends_by, earlier)
                    : "no trial; no task has configs left" + earlier;
  }
  const std::string end =
      by_limit ? "the limit of --" + plan.ends_by : "until no task improves any more";
  return fmt::format("about {} in {}, {}{}", Counted(plan.trials, "trial"),
                     session::ShortDuration(plan.seconds), end, earlier);
}

std::string_view RateOrigin(TunePlan::Rate rate) {
  if (rate == TunePlan::Rate::kOfTrials) return ", as those in the store";
  if (rate == TunePlan::Rate::kOfBuilds) {
    return ", by the time to build some default configs; a loaded machine and large kernels take "
           "up to twice as long";
  }
  return ", as is usual; other machines and kernels take from a third to three times as long";
}

}  // namespace

std::string HeadroomText(const TunePlan& plan) {
  const PlanTotals totals = plan.Totals();
  std::string text;
  if (totals.with == 0) return text;
  const std::string of =
      totals.with < std::ssize(plan.tasks)
          ? fmt::format(" ({} of {})", totals.with, Counted(std::ssize(plan.tasks), "task"))
          : "";
  AppendLines(fmt::format("To gain: {}{} now ({}), {} at the roofline: at most {}, usually {}.",
                          TimeText(plan.metric, totals.now), of, OriginText(totals),
                          TimeText(plan.metric, totals.bound), GainText(totals.now, totals.bound),
                          GainText(totals.now, totals.expected)),
              2, text);
  const double all = SumOfHeadroom(plan);
  if (all < kLittle * totals.now) {
    AppendLines("There is little to gain: the configs are near the roofline.", 2, text);
  } else {
    std::string most;
    const auto tasks = plan.ByHeadroom();
    for (std::size_t i = 0; i < std::min(kNamed, tasks.size()) && tasks[i]->Headroom() > 0; ++i) {
      most += (i == 0 ? "" : ", ") + CutToColumns(Printable(tasks[i]->name), kNameWidth) + " (" +
              PercentOf(tasks[i]->Headroom(), all) + ")";
    }
    if (plan.tasks.size() > 1) AppendLines("Most of it: " + most + ".", 2, text);
  }
  AppendLines("Expected: " + DurationText(plan) + ".", 2, text);
  return text;
}

std::string PlanText(const TunePlan& plan, int columns) {
  std::vector<std::string> names;
  for (const PlannedTask& task : plan.tasks) names.push_back(task.name);
  const PlanColumns shown = PlanColumns::Fitting(names, columns);
  std::string text = shown.Row({"task", "uses", "configs", "now", "roofline", "at most", "share"});
  const double all = SumOfHeadroom(plan);
  for (const PlannedTask& task : plan.tasks) {
    const double most = task.bound > 0 ? std::min(task.bound, task.now) : 0;
    text += shown.Row({Printable(task.name), fmt::format("{}", task.uses), CountText(task.configs),
                       (task.estimated ? "~" : "") + TimeText(plan.metric, task.now),
                       TimeText(plan.metric, task.bound), GainText(task.now, most),
                       most > 0 ? PercentOf(task.Headroom(), all) : ""});
  }
  const PlanTotals totals = plan.Totals();
  const std::string title =
      totals.with == std::ssize(plan.tasks)
          ? "all, uses counted"
          : fmt::format("{} of {}", totals.with, Counted(std::ssize(plan.tasks), "task"));
  text += shown.Row({title, "", "", TimeText(plan.metric, totals.now),
                     TimeText(plan.metric, totals.bound), GainText(totals.now, totals.bound), ""}) +
          "\n";
  if (totals.with > 0) {
    AppendLines(
        fmt::format("Expected: {} ({}), as a search usually gains a third of the distance "
                    "to the roofline.",
                    GainText(totals.now, totals.expected), TimeText(plan.metric, totals.expected)),
        0, text);
  }
  AppendLines(fmt::format("Expected time: {}. A trial takes {}{}.", DurationText(plan),
                          TimeText("seconds", plan.seconds_per_trial), RateOrigin(plan.rate)),
              0, text);
  if (totals.estimated > 0) {
    AppendLines("~: no record; estimated from the loops of the default config.", 0, text);
  }
  return text + "Nothing was measured.\n";
}

}  // namespace tilewright::report
