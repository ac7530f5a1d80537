#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/process/subprocess.h"
#include "src/base/status.h"

namespace tilewright::measure {

/// Limits of one command; 0 or less: none.
struct CommandLimits {
  double seconds = 60;
  std::int64_t output_bytes = 1 << 20;              ///< on standard output
  std::int64_t file_bytes = std::int64_t{1} << 30;  ///< of each file that it writes
  std::int64_t disk_bytes = std::int64_t{4} << 30;  ///< by which the free space may fall
};

/// Command of a user: words, without a shell.
struct CommandSpec {
  std::vector<std::string> words;        ///< the first is a path or a name to find in PATH
  std::vector<std::string> environment;  ///< NAME=value, overrides inherited variables
  std::string input;                     ///< on standard input
  std::string folder;                    ///< working directory; empty: this process's
  std::string scratch;                   ///< folder for its temporary files (TMPDIR); may be empty
  CommandLimits limits;
  std::vector<int> cores;  ///< empty: inherited
  int priority = 0;        ///< see SubprocessOptions
  /// Ends the command (kStopped) soon after it becomes true; may be null. Outlives the command.
  const std::atomic<bool>* stop = nullptr;
};

enum class CommandEnd : std::uint8_t {
  kExited,      ///< by itself: see status
  kTimeout,     ///< ended at limits.seconds
  kOutput,      ///< ended at limits.output_bytes
  kDisk,        ///< ended at limits.disk_bytes
  kNotStarted,  ///< the program cannot be executed
  kNoResource,  ///< the system has no process, pipe or memory for it now
  kLost,        ///< the process that watches it was killed
  kStopped,     ///< by the caller or spec.stop
};

/// End of a command. All of its processes are ended.
struct CommandResult {
  CommandEnd end = CommandEnd::kExited;
  ExitStatus status;
  std::string problem;           ///< of kNotStarted, kNoResource and kLost
  double seconds = 0;            ///< wall time from exec to the end
  double cpu_seconds = 0;        ///< of the command and the children that it waited for
  std::int64_t preemptions = 0;  ///< involuntary context switches of those
  int leftovers = 0;             ///< processes that it left running
  std::string output;            ///< standard output
  std::string error;             ///< last part of standard error

  bool ok() const { return end == CommandEnd::kExited && status.ok() && leftovers == 0; }
  /// Returns why it is not ok, as one line: "exit code 3: last line of standard error".
  std::string Reason() const;
};

/// Returns the path of a program: a path as it is, a name from PATH. Empty if there is none.
std::string FindProgram(const std::string& program);

/// Running command with all its descendants, also those that have left its process group or whose
/// parents have ended. A process between this one and the command (RunKeeper) ends all of them when
/// the command ends, when the object is destroyed, and when this process ends, however it ends.
/// Not thread-safe.
class Command {
 public:
  /// Errors: kUnavailable if no process or pipe can be created; kNotFound if no program of this
  /// name is in PATH. A path that cannot be executed is a result (kNotStarted).
  static Result<Command> Start(const CommandSpec& spec);
  Command(Command&&) noexcept;
  Command& operator=(Command&&) noexcept;
  ~Command();

  /// Sends the input of the spec, waits for the end and returns all output.
  CommandResult Finish();

  /// Line of standard output of a command that stays alive.
  struct Line {
    bool complete = false;  ///< else see `ended` and `timeout`
    bool ended = false;     ///< the command closed its output
    bool timeout = false;
    bool too_long = false;   ///< more than limits.output_bytes
    bool disk_full = false;  ///< more than limits.disk_bytes since the start
    std::string text;        ///< without the newline
    double seconds = 0;      ///< from the call to the line
  };
  /// Sends a text to standard input. Errors: kUnavailable if the command does not read it.
  Status Write(std::string_view text);
  Line ReadLine(double seconds);
  /// Returns whether the command has ended or closed its output, without waiting.
  bool Ended();
  /// Returns whether there is output that ReadLine has not returned, without waiting.
  bool HasMoreOutput();
  /// Closes standard input, waits up to `seconds` for the end, then ends everything.
  CommandResult Stop(double seconds);

 private:
  struct Impl;
  explicit Command(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Runs a command to its end.
inline CommandResult RunCommand(const CommandSpec& spec) {
  auto command = Command::Start(spec);
  if (command.ok()) return command->Finish();
  CommandResult result;
  result.end = command.status().code() == StatusCode::kUnavailable ? CommandEnd::kNoResource
                                                                   : CommandEnd::kNotStarted;
  result.problem = command.status().message();
  return result;
}

}  // namespace tilewright::measure
