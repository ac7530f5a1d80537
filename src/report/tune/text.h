#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "search/job.h"
#include "search/report.h"
#include "src/runtime/roofline.h"

// Texts of a tuning job: lines of its live display, closing tables, and what to do next. No line is
// wider than the given number of columns.

namespace tilewright::report {

/// Style of a part of a line, for terminals with colours.
enum class TextStyle : std::uint8_t { kPlain, kDim, kBold, kGood, kWarning };
struct StyledText {
  std::string text;
  TextStyle style = TextStyle::kPlain;
};
using StyledLine = std::vector<StyledText>;
/// Returns the line without styles.
std::string PlainText(const StyledLine& line);

/// Width of tables that are not on a terminal.
inline constexpr int kTableColumns = 80;

/// Formats a value for tables: as ShortValue, and "455.3k" without a long unit; empty if there is
/// none.
std::string TimeText(std::string_view metric, double value);
/// Formats a ratio of values: "1.12x"; empty if either is unknown.
std::string GainText(double before, double after);

/// State of a task in the live display.
struct TaskLine {
  std::string_view name;
  const search::TaskReport* task = nullptr;
  RooflineBound bound;
  int number = 1;          ///< from 1
  std::string_view state;  ///< "racing"; empty: by the report
};
/// Columns of the live table that fit a width.
struct TaskColumns {
  int name = 0;  ///< 0: the width is too small for a table
  bool now = false, trials = false, roofline = false;
  /// longest_name: columns of the longest name.
  static TaskColumns Fitting(int columns, int longest_name);
};
StyledLine TaskHeader(const TaskColumns& columns);
StyledLine TaskRow(const TaskColumns& columns, std::string_view metric, const TaskLine& line);

/// State of a job in the live display.
struct JobLine {
  double share = 0;                    ///< 0 to 1
  double eta_seconds = 0;              ///< 0: unknown
  std::int64_t trials = 0, limit = 0;  ///< limit 0: none
  double trials_per_second = 0;
  std::string phase;  ///< "race 3 of 12"; empty: the search
};
/// Returns the bar of a job and its figures, most important first, as far as they fit.
StyledLine JobRow(const JobLine& job, std::string_view metric,
                  const std::vector<search::TaskReport>& tasks, int columns);
/// Returns "[########............]": a bar of `width` characters. share: 0 to 1.
std::string BarText(double share, int width);

/// Line of a log for an improved or finished task.
std::string TaskLogText(std::string_view metric, const TaskLine& line, std::int64_t tasks);
/// Line of a log for the job.
std::string JobLogText(const JobLine& job, std::string_view metric,
                       const std::vector<search::TaskReport>& tasks);

/// Report of a job, with all that its closing text needs.
struct ClosingReport {
  const search::TuneReport* report = nullptr;
  const search::JobSettings* settings = nullptr;  ///< limits; may be null
  std::vector<std::string> names;                 ///< of the tasks
  std::vector<RooflineBound> bounds;
  double share_done = 1;  ///< less than 1: the job was stopped
};
/// Returns the table of a job's results, its figures, and notes on results that need one. columns:
/// width of the table, which leaves columns out; 0: no limit, no name is cut.
std::string ClosingText(const ClosingReport& closing, int columns = kTableColumns);
/// Returns the names cut to this number of columns. Cuts that different names share end with the
/// number of their task ("#3").
std::vector<std::string> DistinctCuts(const std::vector<std::string>& names, int columns);
/// Columns for names in such tables: enough for the longest, or what is left. others: columns of
/// the rest of a row. columns: as of ClosingText.
int NameColumns(const std::vector<std::string>& names, int others, int columns);
/// Returns why the job ended, and why nothing was gained where nothing was; empty if there is
/// nothing to say.
std::string OutcomeText(const ClosingReport& closing);

/// Options with which a user's command named a model, as words.
struct JobCommand {
  std::string model;                 ///< file, without "#N"; empty: not a model file
  std::string task;                  ///< task as given if the job has only one; else empty
  std::string records;               ///< store
  std::vector<std::string> options;  ///< words of options that `compile` takes, too
  bool folder = false;               ///< `compile` writes a folder: for a VTA
};
/// Returns the commands that use the job's results.
std::string NextStepsText(const JobCommand& command);

}  // namespace tilewright::report
