#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/files/descriptor.h"
#include "src/base/status.h"

namespace tilewright {

/// Exit status of a process.
struct ExitStatus {
  bool signaled = false;
  int code = 0;  ///< exit code, or the signal's number if `signaled`

  bool ok() const { return !signaled && code == 0; }
  /// Returns "exit code 3" or "signal 11 (SIGSEGV)".
  std::string ToString() const;
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

/// Returns the arguments as a POSIX shell reads them, quoted where necessary.
std::string ShellCommand(const std::vector<std::string>& arguments);

/// Returns "SIGSEGV" for 11; "signal 64" for one without a name.
std::string SignalName(int signal);

/// Environment and limits of a new process. A negative or zero number keeps the inherited setting.
struct SubprocessOptions {
  std::vector<std::string> command;      ///< absolute path of the program, then its arguments
  std::vector<std::string> environment;  ///< NAME=value, overrides inherited variables
  std::vector<int> cores;                ///< cores it may run on; empty = inherited
  std::int64_t address_space_bytes = 0;  ///< RLIMIT_AS
  /// Priority of its session among all sessions (the scheduler's autogroup) and of the process: -20
  /// highest, 19 lowest. Silently stays 0 if the system does not allow it.
  int priority = 0;
};

/// Child process with pipes to its standard input, output and error, in a separate session and
/// process group, without core dumps. The system kills it when the starting thread ends. The
/// program is executed directly, without a shell. Move-only; the destructor kills the whole group
/// and waits for the child.
class Subprocess {
 public:
  /// Starts the process.
  /// Errors: kUnavailable with the system's reason if no process can be created; kNotFound if the
  /// program cannot be executed.
  static Result<Subprocess> Start(const SubprocessOptions& options);
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;
  ~Subprocess();

  int pid() const { return pid_; }
  /// Write end of the child's standard input (blocking), read ends of its output and error
  /// (non-blocking). Closed by the destructor; -1 after CloseInput().
  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  int error() const { return error_.get(); }
  void CloseInput() { input_.Close(); }

  /// Sends SIGKILL to every process of the group.
  void KillGroup();
  /// Waits at most `seconds` for the child to end; 0 only polls. nullopt: it is still running. May
  /// be called again after it ended.
  std::optional<ExitStatus> Wait(double seconds);

 private:
  Subprocess() = default;
  void Swap(Subprocess& other) noexcept;
  int pid_ = -1;
  Descriptor input_, output_, error_;
  std::optional<ExitStatus> ended_;
};

/// Returns the CPU seconds that a process has used so far; 0 if unknown. On a busy machine they
/// distinguish a hanging process from a waiting one.
double ProcessCpuSeconds(int pid);

/// Returns the absolute path of the running program, for restarting it.
/// Errors: kUnavailable if the system does not report it.
Result<std::string> ExecutablePath();

/// Returns the command line of this process, with the name of the program instead of its path;
/// empty if the system does not say.
std::vector<std::string> OwnArguments();

/// Restricts the calling thread, and threads and processes it starts later, to `cores`.
Status SetCpuAffinity(const std::vector<int>& cores);
/// Returns the cores that the calling thread may run on, ascending.
std::vector<int> AllowedCores();
/// Sets the scheduling priority of the calling process and its session; returns false if not
/// allowed.
bool SetSessionPriority(int priority);

}  // namespace tilewright
