#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/measurer.h"
#include "measure/program/command.h"
#include "src/templates/open/open_task.h"

namespace tilewright::measure {

struct ProgramMeasurerSettings {
  CommandLimits run, build;
  std::optional<DeviceFingerprint> device = {};  ///< of the trials; none: this machine's
  int builders = 0;  ///< build commands at the same time; 0: one for each core but the last
  /// Runs of a config continue up to this time in all, unless its values are known well enough.
  double sampling_seconds = 0.5;
  int min_samples = 2, max_samples = 30;
  double converged_noise = 0.01;
  /// A config whose first values are slower than the best one by this factor runs no more.
  double cutoff_factor = 1.2;
  std::function<void(const std::string&)> note;  ///< receives notes for the user; may be empty
  /// Ends a race after its first round, before the next run; may be null. Outlives the measurer.
  const std::atomic<bool>* stop = nullptr;
};

/// Measurer of an open task: runs the commands of its user. Builds run in parallel, runs one after
/// the other. A config without a build command is run at once.
///
/// A config is verified if its command reports no failure and, if there is a check command, if that
/// succeeds. All processes that a command starts end with it (Command).
class ProgramMeasurer final : public Measurer {
  struct Impl;

 public:
  /// task: outlives the measurer; candidates must be of its template.
  /// Errors: kUnavailable without temporary folder or thread; kInvalidArgument naming a program
  /// that does not exist.
  static Result<std::unique_ptr<ProgramMeasurer>> Create(const OpenTask& task,
                                                         ProgramMeasurerSettings settings);
  explicit ProgramMeasurer(std::unique_ptr<Impl> impl);  ///< use Create
  ~ProgramMeasurer() override;

  Status Submit(Request request) override;
  /// Errors: kUnavailable if the system has no process or pipe for a command.
  Result<std::optional<Reply>> Next(double timeout_seconds) override;
  std::vector<std::uint64_t> CancelPending() override;
  int in_flight() const override;
  int capacity() const override;
  TimeSplit time_split() const override;
  const DeviceFingerprint& device() const override;
  /// Joules are reported by the program, if the task has them.
  bool measures_energy() const override { return true; }
  double resolution() const override;
  Result<std::vector<Trial>> Race(const std::vector<Candidate>& finalists,
                                  const RaceSettings& terms) override;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::measure
