#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "search/tuner.h"
#include "src/base/clock.h"
#include "src/report/terminal/live_lines.h"
#include "src/report/tune/text.h"
#include "src/runtime/roofline.h"
#include "src/session/format.h"

namespace tilewright::report {

/// Form of a tuning job's display.
enum class DisplayMode : std::uint8_t { kTerminal, kLog, kQuiet };

/// Display of a tuning job on standard error. On a terminal: a live line per task with a time (of
/// many tasks, the most recently changed) and a bar for the job. In a log: a plain line per
/// improvement or finished task, and one for the job each minute. Thread-safe.
class TuneDisplay final : public search::TuneObserver {
 public:
  struct Settings {
    std::string metric = "seconds";     ///< of the values
    std::vector<RooflineBound> bounds;  ///< of each task
    std::vector<std::string> names;
    DisplayMode mode = DisplayMode::kLog;
    bool color = false;
    LiveLines::Size size = SizeOfErrorTerminal;
    bool rewraps = true;      ///< see TerminalRewraps
    std::int64_t trials = 0;  ///< number of the job; 0: the bar shows the share of the time
  };
  /// clock: for the rate of redrawing; outlives the display.
  TuneDisplay(Settings settings, Clock& clock);
  ~TuneDisplay() override;

  /// Starts a thread that redraws the lines each second, and soon after the terminal has got
  /// another size. Without it only events redraw them.
  void StartThread();

  void Opened(const std::string& job_name) override;
  void Resumed(std::int64_t trials) override;
  void LogDiscarded(const std::string& why) override;
  void StaleFirst(const search::TaskReport& task, int task_index, std::int64_t configs) override;
  void TrialDone(const search::TaskReport& task, int task_index, const Trial& trial,
                 double eta_seconds) override;
  void TaskFinished(const search::TaskReport& task, int task_index) override;
  void RaceBegins(int task_index) override;
  /// Draws the final state from the report; nothing is redrawn afterwards.
  /// Returns the finished share of the job, 0 to 1; less than 1 for a stopped job.
  double Finish(const search::TuneReport& report);

 private:
  // All require the mutex.
  TaskLine LineOf(std::size_t task, std::string_view state = "") const;
  void DrawIfDue();
  void Draw(const JobLine& job);
  /// Returns at most `most` tasks that have a trial, in order.
  std::vector<std::size_t> Shown(std::size_t most) const;
  JobLine JobNow() const;
  double EtaNow() const;
  double ShareDone() const;

  void StopThread();
  void Loop();

  const Settings settings_;
  Clock& clock_;

  mutable std::mutex mutex_;  // guards the following members
  std::optional<LiveLines> lines_;
  std::vector<search::TaskReport> tasks_;
  std::vector<std::int64_t> touched_;  // per task: number of its last trial in this run
  int longest_name_ = 0;               // columns
  int racing_ = -1;
  std::int64_t resumed_ = 0, done_ = 0;
  double begun_, last_line_;
  double eta_ = 0, eta_at_ = 0;  // the last forecast and its time
  double last_draw_ = -1;
  double stopped_share_ = -1;  // share when the search ended

  std::condition_variable wake_;
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace tilewright::report
