#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/program/answer.h"
#include "measure/program/command.h"
#include "src/templates/open/open_task.h"

namespace tilewright::measure {

/// Result of one run of a program with a config.
struct ProgramRun {
  Outcome outcome = Outcome::kOk;
  std::string reason;                                  ///< unless ok
  std::map<std::string, std::vector<double>> samples;  ///< of each metric
  double max_abs_error = 0;
  double seconds = 0;  ///< wall time
  bool clean = true;   ///< other processes took little of its processor time
  /// Why the job cannot continue: the system has no process or pipe for a command. The outcome is
  /// that of a failure then.
  Status error;
};

/// Runner of a program: starts its command for each config, or keeps it alive between configs. Not
/// thread-safe.
class ProgramRunner {
 public:
  /// task: outlives the runner. folder: for temporary files. note: receives notes for the user.
  /// stop: see CommandSpec.
  ProgramRunner(const OpenTask& task, std::string folder, CommandLimits limits,
                std::function<void(const std::string&)> note, const std::atomic<bool>* stop)
      : task_(task),
        folder_(std::move(folder)),
        limits_(limits),
        note_(std::move(note)),
        stop_(stop) {}

  /// Runs the command once. limit_seconds: of its time, at most that of the limits.
  ProgramRun Run(const Config& config, const std::string& out, double limit_seconds);
  /// Runs the command that verifies. ok, or why the result is wrong.
  ProgramRun Check(const Config& config, const std::string& out);

 private:
  /// Source of the values: all configs of a task must have the same.
  enum class Source : std::uint8_t { kUnknown, kAnswer, kWallTime };
  CommandSpec SpecOf(const std::vector<std::string>& words, const Config& config,
                     const std::string& out) const;
  CommandResult RunSpec(const CommandSpec& spec) const;
  ProgramRun RunOnce(const Config& config, const std::string& out, double limit_seconds);
  ProgramRun AskServer(const Config& config, const std::string& out, double limit_seconds);
  Status StartServer();
  ProgramRun EndServer(ProgramRun failed);
  void TakeAnswer(Answer answer, const Config& config, ProgramRun& run);
  /// Fails a run whose values have another source than those of earlier configs.
  void CheckSource(Source source, const Config& config, ProgramRun& run);

  const OpenTask& task_;
  const std::string folder_;
  const CommandLimits limits_;
  const std::function<void(const std::string&)> note_;
  const std::atomic<bool>* const stop_;
  std::optional<Command> server_;
  std::int64_t next_id_ = 1;
  bool server_answered_ = false;  // at least one config
  Source source_ = Source::kUnknown;
  std::string source_config_;  // the first that had it, as JSON
};

/// Returns the outcome and reason of a command that did not end well.
ProgramRun FailedRun(const CommandResult& result, Outcome failed, Outcome timeout);

}  // namespace tilewright::measure
