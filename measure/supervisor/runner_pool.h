#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/statistics.h"
#include "measure/supervisor/file_sender.h"
#include "measure/supervisor/worker_pool.h"

namespace tilewright::measure {

/// Runners, all of one device, on this machine or on others: what each said of itself, which files
/// it has, and when it is called again or given up. Included by .cc files of measure/ only.
class RunnerPool final : public WorkerPool {
 public:
  /// device: what runners on other machines have to be.
  RunnerPool(const PoolContext& context, std::vector<std::unique_ptr<Transport>> transports,
             const DeviceFingerprint& device);

  /// A runner measures what builders would disturb.
  bool blocks_builders() const;
  /// A runner works on a candidate, or a probe; else one may be getting ready.
  bool working() const { return IsBusy(/*greeted=*/true); }
  bool busy() const { return working() || preparing(); }
  bool preparing() const { return IsBusy(/*greeted=*/false); }
  /// What the first one said of itself.
  const std::optional<RunnerHandshake>& handshake() const { return handshake_; }
  /// See ProcessMeasurer.
  double probe_seconds() const { return interference_filter_.observed_seconds(); }
  /// Seconds of samples since this was last asked.
  double TakeTimingSeconds() { return std::exchange(timing_seconds_, 0); }
  /// Those on other machines that have nothing to do end by themselves, and remove their files.
  void RequestShutdown();

 private:
  /// What is known of a runner beyond its connection.
  struct Runner {
    bool handshake_done = false;  ///< it has said what it is, since it was started
    bool given_up = false;        ///< its connection stays broken; others go on
    bool alone = false;           ///< builders would disturb what it does
    bool ends = false;            ///< said so with its last reply; started anew for the next order
    std::size_t capacity = 1;     ///< orders it takes at a time
    double connected_at = 0;  ///< until when it was connected; at first, when it was first called
    double reconnect_seconds = 0;  ///< before it is called again
    FileSender files = {};         ///< if it is on another machine
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
  /// Sends the files, if it is on another machine, and the order.
  void SendRun(Worker& worker, RunOrder order, double limit_seconds);
  void FailToSend(Worker& worker, const Order& order, const Status& why);
  RunOrder::Item ItemOf(JobId id) const;
  double LimitOf(const Job& job) const;
  double MinSamplingSeconds() const;
  Status HandleHandshake(Worker& worker, const Json& message);
  Status HandleRunReply(Worker& worker, const RunReply& reply);
  void LoseJobs(Worker& worker, const WorkerLoss& loss);
  /// Decides when a lost runner on another machine is called again.
  void ScheduleReconnect(Worker& worker, const std::string& why);
  /// Of a connection that stays broken, or of a runner that fails again and again.
  void GiveUp(Worker& worker, const std::string& why);
  bool HasOtherRunners(const Worker& worker) const;

  std::vector<Runner> runners_;  // one for each worker
  const std::string device_;
  std::optional<RunnerHandshake> handshake_;
  double timing_seconds_ = 0;
  NoiseFilter interference_filter_{{.bucket_seconds = 2, .buckets = 5}};
  bool unprotected_reported_ = false;  // what the sandbox lacks
};

}  // namespace tilewright::measure
