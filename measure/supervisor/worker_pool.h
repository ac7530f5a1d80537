#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "measure/supervisor/job_table.h"
#include "measure/supervisor/machine_health.h"
#include "measure/supervisor/process_measurer.h"
#include "measure/supervisor/worker.h"

namespace tilewright::measure {

/// Objects that the pools of one supervisor share.
struct PoolContext {
  const ProcessMeasurerSettings& settings;
  JobTable& jobs;
  MachineHealth& health;
  Clock& clock;
};

/// Loss of a worker, with its orders.
struct WorkerLoss {
  std::string why;  ///< one line
  bool timed_out = false;
  bool by_system = false;  ///< it was killed from outside, or could not be started
  bool busy = false;       ///< it held an order, possibly one without jobs
  std::vector<JobId> jobs;
};

/// Pool of workers of one kind. Each worker gets its next order as soon as it is free; its replies,
/// or its loss, update the state of its jobs. Not thread-safe. Included by .cc files of measure/
/// only.
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;
  /// Gives orders to all free workers.
  void Dispatch();
  /// Reads a worker's data. A worker with invalid data or a closed connection is lost.
  void HandleInput(Worker& worker);
  /// Loses hanging workers.
  void CheckDeadlines();
  std::deque<Worker>& workers() { return workers_; }

 protected:
  /// builds: selects the builder's half of a probe.
  WorkerPool(const PoolContext& context, std::vector<std::unique_ptr<Transport>> transports,
             bool builds);

  /// Sends the next order to a free worker. Returns false if no order is available.
  virtual bool DispatchTo(Worker& worker) = 0;
  /// Number of orders that a worker takes at a time.
  virtual std::size_t CapacityOf(const Worker&) const { return 1; }
  /// Errors: kCorrupt for an unexpected message.
  virtual Status Handle(Worker& worker, const std::string& type, const Json& message) = 0;
  /// Handles the loss of a worker that has just ended.
  virtual void HandleLoss(Worker& worker, const WorkerLoss& loss) = 0;

  void Send(Worker& worker, const Order& order);
  /// Sends a probe as the next order, if one is needed. Returns false if not.
  bool DispatchProbe(Worker& worker);
  /// Counts a failure. After too many without a success between them, returns the error text.
  static std::optional<std::string> TooManyFailures(Worker& worker, const std::string& why);
  /// Schedules the restart of a failed worker, if it may restart.
  void ScheduleRestart(Worker& worker, const std::string& why) const;

  const PoolContext context_;
  std::deque<Worker> workers_;

 private:
  Status HandleLine(Worker& worker, const std::string& line);
  void Lose(Worker& worker, const std::string& why, bool timed_out);

  const bool builds_;
};

}  // namespace tilewright::measure
