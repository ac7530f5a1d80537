#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright::measure {

/// Line transport between the supervisor and one worker. Only the transport distinguishes a process
/// on pipes from a remote worker. Not thread-safe. Included by .cc files of measure/ only.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Connects, unless connected; discards all data of an earlier connection. Errors: with the
  /// reason.
  virtual Status Connect() = 0;
  virtual bool connected() const = 0;
  /// Writes whole lines to a connected worker, within `seconds`. Errors: kUnavailable; without a
  /// message if the worker has ended: End() returns the cause.
  virtual Status Send(std::string_view lines, double seconds) = 0;
  /// Reads the available data without waiting; Next() returns the lines. Returns false at the end
  /// of the input. Errors: kCorrupt for data that is not a line.
  virtual Result<bool> Receive() = 0;
  virtual std::optional<std::string> Next() = 0;
  /// Returns the descriptors that become readable with new data; none without a connection.
  virtual std::vector<int> descriptors() const = 0;

  /// Ends the connection and the worker. Returns its exit status with its last line of output:
  /// "signal 11 (SIGSEGV)", "signal 6 (SIGABRT): LLVM ERROR: out of memory". at_once: does not wait
  /// for the worker to end by itself.
  virtual std::string End(bool at_once) = 0;
  /// Asks the worker to end, within `seconds`.
  virtual void RequestShutdown(double seconds) = 0;
  /// Pauses or resumes the worker, if the transport can. Returns whether it is paused now.
  virtual bool Pause(bool pause) = 0;
  /// Returns the processor time that the worker has used; 0 if unknown.
  virtual double ProcessCpuSeconds() const = 0;
  /// Returns its process id on this machine, for memory accounting; -1 if it has none.
  virtual int pid() const = 0;
};

}  // namespace tilewright::measure
