#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "src/base/clock.h"
#include "src/report/terminal/live_lines.h"

namespace tilewright::report {

/// Progress display on standard error. Prints nothing in the first second. Then it redraws a bar on
/// a terminal, and otherwise prints a plain line every ten seconds. Not thread-safe.
class Progress {
 public:
  /// what: beginning of every line, "compile". clock: outlives this.
  Progress(std::string what, bool terminal, Clock& clock,
           LiveLines::Size size = SizeOfErrorTerminal);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Clears the bar.
  ~Progress();

  /// Updates the display to `done` of `total`, in any unit; total 0: unknown. now: current item,
  /// printed after the bar.
  void Update(double done, double total, std::string_view now);
  /// Removes the bar, so that other text can be written; the next Update draws it again.
  void Clear();

 private:
  std::string what_;
  Clock& clock_;
  std::optional<LiveLines> lines_;  // on a terminal
  double begun_;
  double told_ = -1;  // time of the last output; -1: none
};

/// Progress for work that cannot update it regularly: a thread draws the last state. Thread-safe.
/// Stop it before the process is forked.
class WorkProgress {
 public:
  /// what: as for Progress.
  explicit WorkProgress(std::string what);
  WorkProgress(const WorkProgress&) = delete;
  WorkProgress& operator=(const WorkProgress&) = delete;
  ~WorkProgress();

  /// As Progress::Update.
  void Set(double done, double total, std::string_view now);
  /// Ends the thread and removes the bar; nothing is drawn afterwards.
  void Stop();

 private:
  void Loop();
  SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Progress progress_;
  double done_ = 0, total_ = 0;
  std::string now_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace tilewright::report
