#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "measure/fleet/bench.h"
#include "measure/supervisor/process_measurer.h"
#include "src/base/files/locked_folder.h"

namespace tilewright::measure::fleet {

/// Builders and a device of this machine, or a runner elsewhere that this machine speaks for.
class ProcessBench final : public Bench {
 public:
  /// wake: called from other threads when Take has something. Errors: those of the measurer.
  static Result<std::unique_ptr<ProcessBench>> Create(ProcessMeasurerSettings settings,
                                                      std::function<void()> wake);
  ProcessBench(std::unique_ptr<ProcessMeasurer> measurer, LockedFolder folder);  ///< use Create

  void Start(std::uint64_t number, const Order& order,
             const std::vector<std::string>& artifacts) override;
  void Drop(std::uint64_t number) override { dropped_.insert(number); }
  std::vector<Event> Take() override;
  double next_event() const override;
  double canary_seconds() const override { return measurer_->canary_seconds(); }
  Status status() const override { return status_; }

  ProcessMeasurer& measurer() { return *measurer_; }

 private:
  struct Race {
    std::uint64_t number = 0;
    Order order;
    std::vector<KernelSpec> kernels;
    double began_at = 0;
  };
  Status Submit(std::uint64_t number, const Order& order,
                const std::vector<std::string>& artifacts);
  Result<KernelSpec> KernelOf(const Built& built, const std::string& artifact);
  void BeginRaces();
  void TakeRace(std::vector<Event>& events);
  Event EventOf(std::uint64_t number, Trial trial);

  std::unique_ptr<ProcessMeasurer> measurer_;
  LockedFolder folder_;
  std::map<std::uint64_t, Stage> stages_;  // of what is under way
  std::set<std::uint64_t> dropped_;
  std::deque<Race> races_;  // the first one is under way, if racing_
  bool racing_ = false;
  std::vector<Event> ready_;  // of what could not begin
  std::uint64_t files_ = 0;
  Status status_;
};

}  // namespace tilewright::measure::fleet
