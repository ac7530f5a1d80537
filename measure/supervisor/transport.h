#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::measure {

/// The way from the supervisor to one worker and back, in lines. Whether a process on pipes is at
/// the other end or something far away is known to nobody else. Not thread-safe. Included by .cc
/// files of measure/ only.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Makes the connection, unless there is one; nothing of an earlier one is left.
  /// Errors: with the reason.
  virtual Status Connect() = 0;
  virtual bool connected() const = 0;
  /// Writes whole lines to a connected worker, which has so many seconds to take them.
  /// Errors: kUnavailable; without a message where the worker is gone: End() says how.
  virtual Status Send(std::string_view lines, double seconds) = 0;
  /// Takes in what has come, without waiting for more; lines come out of Next().
  /// returns false once no more will come. Errors: kCorrupt for what is no line.
  virtual Result<bool> Receive() = 0;
  virtual std::optional<std::string> Next() = 0;
  /// What becomes readable when there is something to receive; nothing without a connection.
  virtual std::vector<int> descriptors() const = 0;

  /// Ends the connection and the worker, and tells how it ended, with its last words: "signal 11
  /// (SIGSEGV)", "signal 6 (SIGABRT): LLVM ERROR: out of memory".
  /// at_once: without waiting whether it ends by itself.
  virtual std::string End(bool at_once) = 0;
  /// Asks the worker to end, and gives it this long to do so.
  virtual void RequestShutdown(double seconds) = 0;
  /// Stops the worker, or lets it go on; nothing happens where that cannot be done.
  /// returns whether it stands still now.
  virtual bool Pause(bool pause) = 0;
  /// Processor time the worker has used so far; 0 where that is not known.
  virtual double ProcessCpuSeconds() const = 0;
  /// Its process on this machine, for those who count memory; -1 where there is none.
  virtual int pid() const = 0;
};

}  // namespace tilewright::measure
