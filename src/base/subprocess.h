#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// How a process ended.
struct ExitStatus {
  bool signaled = false;
  int code = 0;  ///< exit code, or the signal's number if `signaled`

  bool ok() const { return !signaled && code == 0; }
  /// "exit code 3", "signal 11 (SIGSEGV)".
  std::string ToString() const;
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

/// "SIGSEGV" for 11; "signal 64" for one without a name.
std::string SignalName(int signal);

/// Places a process is started in. A negative or zero number leaves the setting as it is inherited.
struct SubprocessOptions {
  std::vector<std::string> command;      ///< absolute path of the program, then its arguments
  std::vector<std::string> environment;  ///< NAME=value, instead of what is inherited
  std::vector<int> cores;                ///< cores it may run on; empty = inherited
  std::int64_t address_space_bytes = 0;  ///< RLIMIT_AS
  /// Priority of its session among all sessions (the scheduler's autogroup) and of itself: -20
  /// first, 19 last. Silently left at 0 where the system does not allow it.
  int priority = 0;
};

/// A child process with pipes to its standard input, output and error, in a session and process
/// group of its own, without core dumps, killed by the system when the starting thread ends.
/// The program is executed directly: no shell takes part. Move-only; the destructor kills the whole
/// group and waits for the child.
class Subprocess {
 public:
  /// Errors: kUnavailable with the system's reason if no process can be made; kNotFound if the
  /// program cannot be executed.
  static Result<Subprocess> Start(const SubprocessOptions& options);
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;
  ~Subprocess();

  int pid() const { return pid_; }
  /// Write end of the child's standard input (blocking), read ends of its output and error (not
  /// blocking). Closed with the object; -1 after CloseInput().
  int input() const { return input_; }
  int output() const { return output_; }
  int error() const { return error_; }
  void CloseInput();

  /// SIGKILL to every process of the group.
  void KillGroup();
  /// Waits at most `seconds` for the child to end; 0 only looks. nullopt: it still runs. May be
  /// called again after it ended.
  std::optional<ExitStatus> Wait(double seconds);

 private:
  Subprocess() = default;
  void Swap(Subprocess& other) noexcept;
  int pid_ = -1;
  int input_ = -1, output_ = -1, error_ = -1;
  std::optional<ExitStatus> ended_;
};

/// Processor seconds a process has used so far; 0 if it cannot be told. On a busy machine they tell
/// a process that hangs from one that waits for its turn.
double ProcessCpuSeconds(int pid);

/// Absolute path of the running program, for starting it again.
/// Errors: kUnavailable if the system does not tell.
Result<std::string> ExecutablePath();

/// Restricts the calling thread, and threads and processes it starts later, to `cores`.
Status SetCpuAffinity(const std::vector<int>& cores);
/// Cores the calling thread may run on, ascending.
std::vector<int> AllowedCores();
/// Puts the calling process's session and itself at a scheduling priority; false if not allowed.
bool SetSessionPriority(int priority);

}  // namespace tilewright
