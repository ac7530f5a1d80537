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

/// What the pools of one supervisor share.
struct PoolContext {
  const ProcessMeasurerSettings& settings;
  JobTable& jobs;
  MachineHealth& health;
  Clock& clock;
};

/// How a worker was lost, and with what.
struct WorkerLoss {
  std::string why;  ///< one line
  bool timed_out = false;
  bool by_system = false;  ///< it was killed from outside, or could not be started
  bool busy = false;       ///< it had an order, also one about no jobs
  std::vector<JobId> jobs;
};

/// Workers of one kind: each gets its next order the moment it is free, and what it answers, or its
/// loss, becomes the state of its jobs. Not thread-safe. Included by .cc files of measure/ only.
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;
  /// Gives orders to all who are free for one.
  void Dispatch();
  /// Takes in what a worker has sent. One that sends nonsense, or nothing more, is lost.
  void HandleInput(Worker& worker);
  /// Loses those that hang.
  void CheckDeadlines();
  std::deque<Worker>& workers() { return workers_; }

 protected:
  /// builds: as far as probes are concerned.
  WorkerPool(const PoolContext& context, std::vector<std::unique_ptr<Transport>> transports,
             bool builds);

  /// The next order for one that is free. returns false if there is none.
  virtual bool DispatchTo(Worker& worker) = 0;
  /// Orders that it takes at a time.
  virtual std::size_t CapacityOf(const Worker&) const { return 1; }
  /// Errors: kCorrupt for what it should not have said.
  virtual Status Handle(Worker& worker, const std::string& type, const Json& message) = 0;
  /// Of one that was ended just now.
  virtual void HandleLoss(Worker& worker, const WorkerLoss& loss) = 0;

  void Send(Worker& worker, const Order& order);
  /// The next order is a probe, if one is wanted. returns false if not.
  bool DispatchProbe(Worker& worker);
  /// Counts a failure. Once it is one too many without a success between them, returns what to say.
  static std::optional<std::string> TooManyFailures(Worker& worker, const std::string& why);
  /// A worker that has failed is started again a little later, if it still may.
  void ScheduleRestart(Worker& worker, const std::string& why) const;

  const PoolContext context_;
  std::deque<Worker> workers_;

 private:
  Status HandleLine(Worker& worker, const std::string& line);
  void Lose(Worker& worker, const std::string& why, bool timed_out);

  const bool builds_;
};

}  // namespace tilewright::measure
