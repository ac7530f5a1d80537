#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "measure/fleet/executor.h"
#include "measure/supervisor/process_measurer.h"
#include "src/base/files/locked_temp_dir.h"

namespace tilewright::measure::fleet {

/// Executor with builders and a device of this machine, or with a remote runner that this machine
/// represents.
class ProcessExecutor final : public Executor {
 public:
  /// Limits on the resources that other members' orders take of this machine.
  struct Limits {
    /// Tasks that its processes receive before they restart, and bytes of the tasks' tensors. Each
    /// task costs memory, and a file with its expected results.
    std::size_t max_tasks = 1024;
    std::int64_t max_task_bytes = std::int64_t{16} << 30;
    /// Orders that it holds, including dropped orders that are still in progress.
    std::size_t max_orders = 1024;
  };

  /// Creates the executor. wake: called from other threads when Take has an event. Errors: those of
  /// the measurer.
  static Result<std::unique_ptr<ProcessExecutor>> Create(ProcessMeasurerSettings settings,
                                                         std::function<void()> wake);
  ProcessExecutor(ProcessMeasurerSettings settings, std::unique_ptr<ProcessMeasurer> measurer,
                  LockedTempDir folder);  ///< use Create

  void Start(std::uint64_t number, const Order& order,
             const std::vector<std::string>& artifacts) override;
  void Drop(std::uint64_t number) override;
  std::vector<Event> Take() override;
  double next_event() const override;
  double probe_seconds() const override {
    return measurer_ != nullptr ? measurer_->probe_seconds() : 0;
  }
  Status status() const override { return status_; }

  ProcessMeasurer& measurer() { return *measurer_; }

  void SetLimits(const Limits& limits) { limits_ = limits; }

 private:
  struct Race {
    std::uint64_t number = 0;
    Order order;
    std::vector<KernelSpec> kernels;
    double began_at = 0;
  };
  Status Submit(std::uint64_t number, const Order& order,
                const std::vector<std::string>& artifacts);
  Status EnforceLimits(const Order& order);
  Status RestartMeasurer();
  Result<KernelSpec> KernelOf(const Built& built, const std::string& artifact);
  void BeginRaces();
  void TakeRace(std::vector<Event>& events);
  Event EventOf(std::uint64_t number, Trial trial);

  const ProcessMeasurerSettings settings_;
  Limits limits_;
  std::unique_ptr<ProcessMeasurer> measurer_;
  LockedTempDir folder_;
  std::map<std::uint64_t, Stage> stages_;  // of orders in progress
  std::set<std::uint64_t> dropped_;
  std::set<std::uint64_t> tasks_;  // hashes of the tasks that the measurer received
  std::int64_t task_bytes_ = 0;    // of their tensors
  bool restart_due_ = false;       // the measurer has to be recreated
  std::deque<Race> races_;         // the first one is in progress if racing_
  bool racing_ = false;
  std::vector<Event> ready_;  // of orders that could not start
  std::uint64_t files_ = 0;
  Status status_;
};

}  // namespace tilewright::measure::fleet
