#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "src/base/clock.h"

namespace tilewright::cli {

/// "[########............]": how much of `width` characters is done. share: 0 to 1.
std::string ProgressBar(double share, int width);

/// How far a piece of work is, on standard error: nothing in its first second; then a bar that is
/// redrawn on a terminal, and elsewhere a plain line every ten seconds. Not thread-safe.
class Progress {
 public:
  /// what: of every line, "compile". clock: outlives this.
  Progress(std::string what, bool terminal, Clock& clock);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Clears the bar.
  ~Progress();

  /// done of total, in any unit; total 0: nobody knows how much there is. now: what is being done,
  /// behind the bar.
  void Update(double done, double total, std::string_view now);
  /// Takes the bar away, so that something else can be written; it comes again with the next Tell.
  void Clear();

 private:
  std::string what_;
  bool terminal_;
  Clock& clock_;
  double begun_;
  double told_ = -1;  // when something was written last; -1: never
  bool drawn_ = false;
};

/// A Progress for work that does not tell by itself when a moment has passed: a thread draws what
/// was said last. Everything may be called from any thread. Stop it before the process is forked.
class WorkProgress {
 public:
  /// what: as for Progress, on standard error of this process.
  explicit WorkProgress(std::string what);
  WorkProgress(const WorkProgress&) = delete;
  WorkProgress& operator=(const WorkProgress&) = delete;
  ~WorkProgress();

  /// As Progress::Tell.
  void Set(double done, double total, std::string_view now);
  /// Ends the thread and takes the bar away; nothing is drawn from then on.
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

}  // namespace tilewright::cli
