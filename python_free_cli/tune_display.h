#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "search/tuner.h"
#include "src/base/clock.h"
#include "src/runtime/roofline.h"
#include "src/session/format.h"

namespace tilewright::cli {

/// Display of a tuning job on standard error. On a terminal: a live line per task (of many tasks,
/// the most recently changed) and a bar for the job (share of trials or budget, time left, the
/// network's total, trials per second). In a log: a plain line per improvement or finished task,
/// and one for the job each minute.
class TuneDisplay final : public search::TuneObserver {
 public:
  /// metric: metric of the values, "seconds" or a metric of the VTA. bounds: roofline of each task.
  /// clock: for the rate of redrawing.
  TuneDisplay(std::string metric, std::vector<RooflineBound> bounds, std::vector<std::string> names,
              bool terminal, Clock& clock);

  void Opened(const std::string& job_name) override {
    begun_ = clock_.MonotonicSeconds();  // start of the search
    if (opened_) opened_(job_name);
  }
  void Resumed(std::int64_t trials) override;
  void LogDiscarded(const std::string& why) override;
  void StaleFirst(const search::TaskReport& task, int task_index, std::int64_t configs) override;
  void TrialDone(const search::TaskReport& task, int task_index, const Trial& trial,
                 double eta_seconds) override;
  void TaskFinished(const search::TaskReport& task, int task_index) override;
  /// Sets a further receiver of the job's name.
  void SetOpenedCallback(std::function<void(const std::string&)> opened) {
    opened_ = std::move(opened);
  }
  /// Sets the number of trials of the job; without it the bar shows the share of the time.
  void SetTrials(std::int64_t trials) { limit_ = trials; }
  /// Draws the final state from the report; nothing is redrawn afterwards.
  /// Returns the finished share of the job, 0 to 1; less than 1 for a stopped job.
  double Finish(const search::TuneReport& report);

 private:
  std::string Line(const search::TaskReport& task, int task_index) const;
  void Redraw(double eta_seconds);
  void Draw(double share, double eta_seconds, double trials_per_second);
  /// Returns the tasks whose lines are drawn, in order.
  std::vector<std::size_t> Shown() const;
  /// Returns "43 %  eta 3m05s  all 12.3 ms (default 20.1 ms)  35.2 trials/s". share: 0 to 1.
  std::string JobLine(double share, double eta_seconds, double trials_per_second) const;
  /// Returns the rate of this run so far.
  double TrialsPerSecond() const;
  double ShareDone(double eta_seconds) const;

  std::string metric_;
  std::vector<RooflineBound> bounds_;
  std::vector<std::string> names_;
  std::vector<search::TaskReport> tasks_;
  bool terminal_;
  Clock& clock_;
  std::function<void(const std::string&)> opened_;
  std::vector<std::int64_t> touched_;  // per task: number of its last trial in this run
  std::int64_t limit_ = 0, resumed_ = 0, done_ = 0;
  double begun_ = -1, last_line_ = -1, last_eta_ = 0;
  double last_draw_ = -1;
  int drawn_lines_ = 0;
};

/// Prints the closing table of a job to standard output. share_done: as Finish returns it.
void PrintReport(const search::TuneReport& report, const std::vector<std::string>& names,
                 const std::vector<RooflineBound>& bounds, double share_done = 1);

}  // namespace tilewright::cli
