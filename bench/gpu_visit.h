#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright::bench {

/// Arguments after a subcommand: `--name value`, and positional ones in order.
struct VisitArguments {
  std::map<std::string, std::string> named;  ///< without the dashes
  std::vector<std::string> plain;
};

/// Runs the winners of a store once on a device and compares with the reference; prints a line for
/// each. plain: a file that `records best --json` wrote. named: device. Returns the process's exit
/// code.
int CheckWinners(const VisitArguments& arguments);

/// Builds the records of an AutoTVM log, runs, compares and times them on a device, and prints the
/// rank correlation of measured and recorded times. plain: the log, the file to write
/// (tab-separated). named: device, models (of the records' targets, separated by commas), tasks
/// (files that `tasks --json` wrote, separated by commas: only these workloads), arch. Returns the
/// process's exit code.
int TimeLog(const VisitArguments& arguments);

/// Formats the table (Markdown) of a visit's directory, from the results of its steps so far.
/// Errors: kNotFound if the directory does not exist; an unreadable file is a line of the table.
Result<std::string> VisitTable(const std::string& folder);

/// Returns Spearman's rank correlation, where equal values share their mean rank; 0 for fewer than
/// two pairs or a side of equal values. Requires as many values on both sides.
double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tilewright::bench
