#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "measure/worker/channel.h"
#include "src/base/json.h"
#include "src/base/subprocess.h"

namespace tilewright::measure {

/// A worker as its supervisor sees it: started when needed, one order at a time, with a deadline.
/// Not thread-safe. Included by .cc files of measure/ only.
class WorkerProcess {
 public:
  explicit WorkerProcess(SubprocessOptions options) : options_(std::move(options)) {}

  /// Starts the process unless it runs. Errors: those of Subprocess::Start.
  Status EnsureStarted();
  bool started() const { return process_.has_value(); }
  /// Sends an order; `limit_seconds` from `now` it counts as hanging. before: lines that go with it
  /// and ask for no answer.
  Status Send(const Json& order, double now, double limit_seconds, const std::string& before = {});
  /// Notes that it is told a task. returns false if it has been since it was started.
  bool Tell(std::uint64_t task) { return told_.insert(task).second; }
  /// Writes lines that ask for no answer, such as files; waits at most `seconds` for them to be
  /// read.
  Status Push(const std::string& lines, double seconds);
  /// The worker has an order it did not answer yet.
  bool busy() const { return busy_; }
  void SetIdle() { busy_ = false; }
  double deadline() const { return deadline_; }
  /// After the deadline: whether it used its time, or had it three times over. Else the deadline
  /// moves on: the machine is busy with other things.
  bool IsOverdue(double now);
  double limit_seconds() const { return limit_seconds_; }

  /// Reads what is there. Lines come out of Next(). Errors: kCorrupt for what is no line.
  /// returns false when the worker closed its output.
  Result<bool> Read();
  std::optional<std::string> Next() { return reader_.Next(); }
  int output() const { return process_ ? process_->output() : -1; }
  int error() const { return process_ ? process_->error() : -1; }

  /// Kills it (if it still runs) and tells how it ended, with its last words on standard error:
  /// "signal 11 (SIGSEGV)", "signal 6 (SIGABRT): LLVM ERROR: out of memory".
  /// at_once: it is hanging, no need to let it end by itself.
  std::string End(bool at_once = false);
  /// Closes its input, which asks a worker to end, and gives it this long to do so.
  void LetEnd(double seconds);
  /// Stops and continues the whole group; a stopped worker's deadline is moved by the stop.
  void Pause(double now);
  void Resume(double now);
  bool paused() const { return paused_; }
  int pid() const { return process_ ? process_->pid() : -1; }
  /// Orders sent since the start.
  int orders() const { return orders_; }

 private:
  SubprocessOptions options_;
  std::optional<Subprocess> process_;
  LineReader reader_;
  TailReader tail_;
  bool busy_ = false, paused_ = false;
  double deadline_ = 0, limit_seconds_ = 0, paused_at_ = 0;
  double sent_at_ = 0, processor_at_send_ = 0;
  int orders_ = 0;
  std::set<std::uint64_t> told_;  // numbers of tasks
};

}  // namespace tilewright::measure
