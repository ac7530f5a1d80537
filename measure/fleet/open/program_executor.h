#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/fleet/executor.h"
#include "measure/program/program_measurer.h"
#include "src/templates/open/open_task.h"

namespace tilewright::measure::fleet {

/// Executor that runs programs of this machine's user: the open tasks of the worker's own
/// configuration.
///
/// An order brings the key of a task and values of its parameters, never a command. The key is a
/// hash of all texts of a task, so it names a command only if the worker's user wrote the same one.
/// The values must be those of a config that the task's space allows. Orders run one after the
/// other; builds of one task run in parallel.
class ProgramExecutor final : public Executor {
  struct Impl;

 public:
  /// Open task that the worker's configuration lists.
  struct Program {
    OpenTask task;
    ProgramMeasurerSettings settings;
  };
  /// programs: at least one. wake: called from another thread when Take has an event. Errors:
  /// kInvalidArgument for a task twice; those of ProgramMeasurer::Create and DeviceFor.
  static Result<std::unique_ptr<ProgramExecutor>> Create(std::vector<Program> programs,
                                                         std::function<void()> wake);
  explicit ProgramExecutor(std::unique_ptr<Impl> impl);  ///< use Create
  ~ProgramExecutor() override;

  void Start(std::uint64_t number, const Order& order,
             const std::vector<std::string>& artifacts) override;
  /// An order that runs continues.
  void Drop(std::uint64_t number) override;
  std::vector<Event> Take() override;
  double next_event() const override;
  Status status() const override;

  /// Device of the trials: this machine, with a hash of the tasks' keys, so that workers with other
  /// tasks are another class.
  const DeviceFingerprint& device() const;
  /// Returns the keys of the tasks, sorted.
  std::vector<std::string> keys() const;
  int capacity() const;  ///< number of orders that it takes at a time

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::measure::fleet
