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
  /// What it says of itself: all but state and counts. The slots in it bound what it takes.
  Announcement announcement;
  bool builds_for_others = false;  ///< takes orders of any class that are only to be built
  double heartbeat_seconds = 1, announce_seconds = 2;
  double silent_seconds = 4;   ///< a job that says nothing gets no more of this device
  double forget_seconds = 15;  ///< ... and is forgotten
  double fetch_seconds = 2;    ///< to wait for orders of an empty queue
  // What tuners may take of this process's memory. What is beyond is refused, and said.
  std::size_t max_jobs = 1024, max_jobs_of_user = 128;        ///< that it keeps count of
  std::size_t max_direct = 256, max_direct_of_job = 16;       ///< orders said to it, in no queue
  std::int64_t max_artifact_bytes = std::int64_t{256} << 20;  ///< of orders that have not begun
  double artifact_seconds = 60;  ///< an artifact that has not come by then is not there
  /// Called what people may want to know. May be empty.
  std::function<void(const std::string&)> on_note;
};

/// A device's side of a fleet: takes orders of jobs by their shares, speaks for those it has, and
/// says what came of them. Everything happens inside Poll, on the caller's thread; the clock may be
/// a made-up one. Not thread-safe.
class WorkerCore {
 public:
  /// bench, broker, clock: outlive it.
  WorkerCore(WorkerSettings settings, Executor& executor, Broker& broker, Clock& clock);

  /// Begins to listen, and says that it is here. Errors: the broker's.
  Status Open();
  void Poll(double seconds);
  /// Takes no more orders; Drained once those it has are done.
  void Drain();
  bool drained() const { return state_ == DeviceState::kDraining && held_.empty(); }
  std::int64_t done() const { return done_; }
  /// Says that it goes. Orders that it has are somebody else's then.
  void Close();

 private:
  struct Fetching {
    int left = 0;        // messages that may still come; 0: nothing was asked
    bool waits = false;  // the queue was asked to wait for some
    bool empty = false;  // the last time it had none
    double until = 0;    // then it is forgotten
  };
  /// What takes orders at a time: measuring, or building for others.
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
    Lane* lane = nullptr;  // null: said directly
    double charged = 0;
    double taken_at = 0;
    std::vector<std::string> artifacts;  // parts of them that have come, until it is started
    std::size_t missing = 0;             // parts that have not
    bool begun = false;                  // the bench has it
    bool waits = false;                  // it could begin, were others not in its way
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
  const std::optional<Target> target_;  // the device's; none: nothing is measured here
  Lane measure_, build_;
  std::map<JobName, Job> jobs_, build_jobs_;
  std::map<std::uint64_t, HeldOrder> held_;
  std::map<std::string, std::set<std::uint64_t>>
      awaited_artifacts_;  // objects, and for which of these
  std::uint64_t next_ = 1;
  DeviceState state_ = DeviceState::kReady;
  bool heartbeat_due_ = false;
  double ticked_at_ = -1, heartbeat_at_ = 0, announced_at_ = 0, busy_seconds_ = 0;
  std::int64_t done_ = 0, connections_ = 0;
};

}  // namespace tilewright::measure::fleet
