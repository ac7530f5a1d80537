#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "search/tuner.h"
#include "src/base/clock.h"
#include "src/runtime/roofline.h"

namespace tilewright::cli {

/// Shows a tuning job on standard error: one live line per task on a terminal, one plain line per
/// improvement or finished task in a log.
class TuneDisplay final : public search::TuneObserver {
 public:
  /// metric: what values are, "seconds" or a metric of the VTA. bounds: per task the least value
  /// there can be (the roofline). clock: for the pace of redrawing.
  TuneDisplay(std::string metric, std::vector<double> bounds, std::vector<std::string> names,
              bool terminal, Clock& clock);

  void Resumed(std::int64_t trials) override;
  void LogLeft(const std::string& why) override;
  void StaleFirst(const search::TaskReport& task, int task_index, std::int64_t configs) override;
  void TrialDone(const search::TaskReport& task, int task_index, const Trial& trial,
                 double eta_seconds) override;
  void TaskFinished(const search::TaskReport& task, int task_index) override;
  /// Draws the last state; nothing is redrawn afterwards.
  void Finish();

 private:
  std::string Line(const search::TaskReport& task, int task_index) const;
  void Redraw(double eta_seconds);

  std::string metric_;
  std::vector<double> bounds_;
  std::vector<std::string> names_;
  std::vector<search::TaskReport> tasks_;
  bool terminal_;
  Clock& clock_;
  double last_draw_ = -1;
  int drawn_lines_ = 0;
};

/// Short name of a workload for tables: "conv2d 64->128 3x3 s2 56x56".
std::string ShortName(const Workload& workload);
/// "12.3 ms", "45.6 us".
std::string ShortSeconds(double seconds);
/// A value of a metric: seconds as above, "455.3 kcycles", "1.234 MB"; "-" if there is none.
std::string ShortValue(std::string_view metric, double value);
/// "1h02m", "3m05s", "12s".
std::string ShortDuration(double seconds);

/// The closing table of a job, on standard output.
void PrintReport(const search::TuneReport& report, const std::vector<std::string>& names,
                 const std::vector<double>& bounds);

}  // namespace tilewright::cli
