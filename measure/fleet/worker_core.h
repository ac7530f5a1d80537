#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "measure/fleet/executor.h"
#include "measure/fleet/rate_limited_log.h"
#include "measure/fleet/stride_scheduler.h"
#include "src/base/clock.h"
#include "src/target/target.h"

namespace tilewright::measure::fleet {

struct WorkerSettings {
  DeviceName name;
  std::string device_class;
  /// Announcement of the worker, without state and counts. Its slots bound the orders it takes.
  Announcement announcement;
  bool builds_for_others = false;  ///< takes build-only orders of any class
  double heartbeat_seconds = 1, announce_seconds = 2;
  double silent_seconds = 4;   ///< a job without messages for this long gets no device time
  double forget_seconds = 15;  ///< the job is then removed after this long
  double fetch_seconds = 2;    ///< wait for orders of an empty queue
  // Limits on the memory that tuners can occupy in this process. Excess requests are refused, with
  // a message.
  std::size_t max_jobs = 1024, max_jobs_of_user = 128;        ///< jobs that it tracks
  std::size_t max_direct = 256, max_direct_of_job = 16;       ///< orders sent directly, in no queue
  std::int64_t max_artifact_bytes = std::int64_t{256} << 20;  ///< of orders that have not started
  double artifact_seconds = 60;  ///< an artifact that has not arrived by then is missing
  /// Receives notes for users. May be empty.
  std::function<void(const std::string&)> on_note;
};

/// Device's side of a fleet. Takes orders of jobs by their shares, renews their leases, and
/// publishes results. All work happens inside Poll, on the caller's thread. The clock may be
/// simulated. Not thread-safe.
class WorkerCore {
 public:
  /// executor, broker, clock: have to outlive the worker.
  WorkerCore(WorkerSettings settings, Executor& executor, Broker& broker, Clock& clock);

  /// Subscribes to the fleet's messages, and announces the device. Errors: the broker's.
  Status Open();
  void Poll(double seconds);
  /// Stops taking orders. Drained returns true once the present orders are finished.
  void Drain();
  bool drained() const { return state_ == DeviceState::kDraining && held_.empty(); }
  std::int64_t done() const { return done_; }
  /// Announces that the worker leaves. Other workers may then take its orders.
  void Close();

 private:
  struct Fetching {
    int left = 0;        // messages that may still arrive; 0: no fetch in progress
    bool waits = false;  // the fetch blocks on an empty queue
    bool empty = false;  // the last fetch returned none
    double until = 0;    // then the job is removed
  };
  /// Slots for orders: measuring, or building for others.
  struct Lane {
    bool builds = false;
    int slots = 0, held = 0;
    StrideScheduler shares;
    std::map<JobName, Fetching> fetching;
  };
  struct Job {
    JobAnnouncement state;
    double last_seen_at = 0;
    bool excluded = false;
  };
  struct HeldOrder {
    Order order;
    Lease lease;
    Lane* lane = nullptr;  // null: sent directly
    double charged = 0;
    double taken_at = 0;
    std::vector<std::string> artifacts;  // parts that have arrived, until the start
    std::size_t missing = 0;             // parts that have not arrived
    bool begun = false;                  // the executor has it
    bool waits = false;                  // ready to start, blocked only by other orders
  };

  void Handle(const BrokerEvent& incoming);
  void HandleJobAnnouncement(const BrokerEvent& incoming, bool builds);
  void HandleControl(const BrokerEvent& incoming);
  void HandleOrder(const BrokerEvent& incoming, Lane* lane);
  void HandleFetchOver(const BrokerEvent& incoming);
  Lane* LaneOf(const std::string& stream);
  bool TracksJob(const JobName& name, bool builds);
  std::string PermanentRefusalReason(const Order& order, bool builds) const;
  std::string OverLimitReason(const Order& order, const Lane* lane) const;
  std::string RefusalReason(const Order& order, const Lane* lane) const;
  void Refuse(const Order& order, const Lease& lease, const std::string& why);
  void GetArtifacts(std::uint64_t number, HeldOrder& held);
  void HandleObject(const BrokerEvent& incoming);
  void StartOrder(std::uint64_t number, HeldOrder& held);
  void StartAlone();
  void GiveUpArtifacts(double now);
  void ForgetWanted(std::uint64_t number);
  bool PutArtifact(const Order& order, const Executor::Event& event);
  void PublishResult(HeldOrder& held, Executor::Event event);
  void TakeDone();
  void Tick();
  void ForgetJobs(double now);
  void DropJob(const JobName& name);
  void PublishAnnouncement(double now);
  void PublishHeartbeats();
  void Fetch(Lane& lane, double now);
  bool MayFetch(const Lane& lane, const JobName& name, double now) const;
  void RequestMessages(Lane& lane, const JobName& job, int count, double seconds, double now);
  Queue QueueOf(const Lane& lane, const JobName& job) const;

  const WorkerSettings settings_;
  Executor& executor_;
  Broker& broker_;
  Clock& clock_;
  RateLimitedLog log_;
  const double began_at_;
  const std::optional<Target> target_;  // of the device; none: nothing is measured here
  Lane measure_, build_;
  std::map<JobName, Job> jobs_, build_jobs_;
  std::map<std::uint64_t, HeldOrder> held_;
  std::map<std::string, std::set<std::uint64_t>>
      awaited_artifacts_;  // object name to the orders that wait for it
  std::uint64_t next_ = 1;
  DeviceState state_ = DeviceState::kReady;
  bool heartbeat_due_ = false;
  double ticked_at_ = -1, heartbeat_at_ = 0, announced_at_ = 0, busy_seconds_ = 0;
  std::int64_t done_ = 0, connections_ = 0;
};

}  // namespace tilewright::measure::fleet
