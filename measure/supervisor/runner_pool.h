#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/statistics.h"
#include "measure/supervisor/file_sender.h"
#include "measure/supervisor/worker_pool.h"

namespace tilewright::measure {

/// Runners, all of one device, on this machine or on others, with their handshakes, the files they
/// have, and their reconnection state. Included by .cc files of measure/ only.
class RunnerPool final : public WorkerPool {
 public:
  /// device: required device of runners on other machines.
  RunnerPool(const PoolContext& context, std::vector<std::unique_ptr<Transport>> transports,
             const DeviceFingerprint& device);

  /// Returns whether a runner is measuring a candidate that builders would disturb.
  bool blocks_builders() const;
  /// Returns whether a runner works on a candidate or a probe; a starting runner does not count.
  bool working() const { return IsBusy(/*greeted=*/true); }
  bool busy() const { return working() || preparing(); }
  bool preparing() const { return IsBusy(/*greeted=*/false); }
  /// Returns the first runner's handshake.
  const std::optional<RunnerHandshake>& handshake() const { return handshake_; }
  /// See ProcessMeasurer.
  double probe_seconds() const { return interference_filter_.observed_seconds(); }
  /// Returns the seconds of sampling since the last call.
  double TakeTimingSeconds() { return std::exchange(timing_seconds_, 0); }
  /// Asks idle runners on other machines to end and remove their files.
  void RequestShutdown();

 private:
  /// State of a runner beyond its connection.
  struct Runner {
    bool handshake_done = false;  ///< received since the last start
    bool given_up = false;        ///< its connection stays broken; the other runners continue
    bool alone = false;           ///< builders would disturb its work
    bool ends = false;            ///< announced in its last reply; restarted for the next order
    std::size_t capacity = 1;     ///< number of orders it takes at a time
    double connected_at = 0;  ///< end of the last connection; initially, time of the first attempt
    double reconnect_seconds = 0;  ///< before the next connection attempt
    FileSender files = {};         ///< for a runner on another machine
  };

  bool DispatchTo(Worker& worker) override;
  std::size_t CapacityOf(const Worker& worker) const override {
    return runners_[worker.index()].capacity;
  }
  Status Handle(Worker& worker, const std::string& type, const Json& message) override;
  void HandleLoss(Worker& worker, const WorkerLoss& loss) override;

  Runner& StateOf(const Worker& worker) { return runners_[worker.index()]; }
  bool IsBusy(bool handshake_done) const;
  void Configure(Worker& worker);
  bool DispatchRace(Worker& worker);
  bool DispatchRun(Worker& worker);
  /// Sends the order, and before it the files if the runner is on another machine.
  void SendRun(Worker& worker, RunOrder order, double limit_seconds);
  void FailToSend(Worker& worker, const Order& order, const Status& why);
  RunOrder::Item ItemOf(JobId id) const;
  double LimitOf(const Job& job) const;
  double MinSamplingSeconds() const;
  Status HandleHandshake(Worker& worker, const Json& message);
  Status HandleRunReply(Worker& worker, const RunReply& reply);
  void LoseJobs(Worker& worker, const WorkerLoss& loss);
  /// Schedules the next connection attempt to a lost runner on another machine.
  void ScheduleReconnect(Worker& worker, const std::string& why);
  /// Gives up a runner whose connection stays broken, or that fails repeatedly.
  void GiveUp(Worker& worker, const std::string& why);
  bool HasOtherRunners(const Worker& worker) const;

  std::vector<Runner> runners_;  // one for each worker
  const std::string device_;
  std::optional<RunnerHandshake> handshake_;
  double timing_seconds_ = 0;
  NoiseFilter interference_filter_{{.bucket_seconds = 2, .buckets = 5}};
  bool unprotected_reported_ = false;  // missing parts of the sandbox
};

}  // namespace tilewright::measure
