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

/// Builders and a device of this machine, or a runner elsewhere that this machine speaks for.
class ProcessExecutor final : public Executor {
 public:
  /// What others' orders may take of this machine.
  struct Limits {
    /// Tasks that its processes are told before they are started anew, and bytes of their tensors:
    /// each costs memory, and a file with what is expected of it.
    std::size_t max_tasks = 1024;
    std::int64_t max_task_bytes = std::int64_t{16} << 30;
    /// Orders that it has, those included that were dropped and are still being worked on.
    std::size_t max_orders = 1024;
  };

  /// wake: called from other threads when Take has something. Errors: those of the measurer.
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
  std::map<std::uint64_t, Stage> stages_;  // of what is under way
  std::set<std::uint64_t> dropped_;
  std::set<std::uint64_t> tasks_;  // hashes of those that the measurer was told
  std::int64_t task_bytes_ = 0;    // of their tensors
  bool restart_due_ = false;       // the measurer is to be made anew
  std::deque<Race> races_;         // the first one is under way, if racing_
  bool racing_ = false;
  std::vector<Event> ready_;  // of what could not begin
  std::uint64_t files_ = 0;
  Status status_;
};

}  // namespace tilewright::measure::fleet
