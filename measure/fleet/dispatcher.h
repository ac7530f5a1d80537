#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "measure/fleet/device_registry.h"
#include "measure/fleet/executor.h"
#include "measure/fleet/lease_table.h"
#include "measure/fleet/rate_limited_log.h"
#include "measure/measurer.h"
#include "src/base/clock.h"

namespace tilewright::measure::fleet {

struct DispatcherSettings {
  JobName job;
  std::uint64_t epoch = 1;   ///< number of this run of the job; different for each run
  std::string device_class;  ///< class of the devices that measure
  DeviceFingerprint device;  ///< fingerprint of these devices
  double weight = 1;         ///< see JobAnnouncement
  std::string what;          ///< description for users
  /// Time at which the job should be finished, in seconds since 1970; 0: no deadline. During the
  /// second half of the time until then, the weight rises, up to kUrgency times at the end.
  double deadline_unix_seconds = 0;
  static constexpr double kUrgency = 4;
  /// The job ends, and can be resumed, if the broker is unreachable for this long.
  double broker_timeout_seconds = 600;
  double lease_seconds = Broker::kLeaseSeconds;
  int max_lost_workers = 3;         ///< lost workers after which a candidate fails
  int baseline_kernels = 2;         ///< at most
  double check_share = 0.25;        ///< share of the best results that a second device measures
                                    ///< again; 0: none
  double publish_seconds = 1;       ///< interval between job announcements
  double audit_seconds = 5;         ///< interval between audits of the queue
  double race_limit_seconds = 120;  ///< maximum time of a race, in addition to its terms
  DeviceRegistry::Settings device_registry;
  /// Creates the executor that builds candidates on this machine. Called when the fleet's builders
  /// first build for the job. It confirms their artifacts (see ConfirmBuilt) before the times count
  /// as the best. If the call fails, or its executor fails later, the job ends with that status and
  /// can be resumed. Empty: builders are trusted, for benchmarks and simulations.
  std::function<Result<std::unique_ptr<Executor>>()> make_local_executor;
  // Limits on the memory that other members can occupy in this process.
  std::size_t max_devices = 16384, max_devices_of_worker = 4096, max_builders = 4096;
  /// Receives notes for users. May be empty.
  std::function<void(const std::string&)> on_note;
};

/// Counters of the dispatcher, for benchmarks and users.
struct DispatcherCounts {
  std::int64_t results = 0, late = 0, duplicates = 0, foreign = 0, lost = 0, resent = 0,
               refused = 0, revised = 0, baselines = 0, checks = 0, checks_failed = 0, poisoned = 0;
  /// Artifacts of builders that this machine built again, and those of them that differed.
  std::int64_t rebuilt = 0, unconfirmed = 0;
  double longest_recovery_seconds = 0;  ///< see LeaseTable
};

/// Returns the key of a candidate's task: its workload and epilogue.
std::string TaskKey(const Candidate& candidate);

/// Tuner's side of a fleet. Puts orders into queues, tracks leases, accepts or rejects results, and
/// tracks the devices. All work happens inside Poll, on the caller's thread. The clock may be
/// simulated. Not thread-safe.
class Dispatcher {
 public:
  /// broker, clock: have to outlive the dispatcher.
  Dispatcher(DispatcherSettings settings, Broker& broker, Clock& clock);

  /// Creates the queue and subscribes to the fleet's messages. Errors: the broker's.
  Status Open();
  /// Announces the end of the job, and removes its queue.
  void Close();

  Status Submit(Request request);
  /// Handles incoming messages and due timers. Blocks for at most `seconds` if nothing arrives.
  void Poll(double seconds);
  /// Returns the next result, in order of arrival. The caller confirms each with MarkStored.
  std::optional<Reply> Take();
  /// Acknowledges the order of this ticket to the broker, after its trial was stored.
  void MarkStored(std::uint64_t ticket);
  /// See Measurer.
  std::vector<std::uint64_t> CancelPending();
  /// Returns the number of the caller's orders that Take has not returned.
  int in_flight() const { return in_flight_; }

  /// Starts a race of built or unbuilt candidates on a device. Returns nullopt while no device is
  /// available. other_than: device to avoid.
  std::optional<std::uint64_t> StartRace(const std::vector<Candidate>& finalists,
                                         const RaceSettings& terms,
                                         const std::optional<DeviceName>& other_than);
  /// Returns the result of a race, once; nullopt while it runs. A race whose device was lost
  /// returns no trials.
  struct RaceResult {
    DeviceName device;
    std::vector<Trial> trials;
  };
  std::optional<RaceResult> TakeRace(std::uint64_t race);

  /// Returns an error after the job was cancelled, a later run of it started, the broker was
  /// unreachable for too long, or this machine failed to confirm builders' artifacts.
  const Status& ended() const { return ended_; }
  const DeviceRegistry& device_registry() const { return device_registry_; }
  /// Returns whether the fleet's builders build the candidates of this job.
  bool split() const { return split_; }
  /// Returns whether the job needs builders and none is online.
  bool lacks_builders() const { return split_ && builders_.empty(); }
  DispatcherCounts counts() const;
  std::int64_t done() const { return done_; }
  /// Returns the seconds until the deadline; nullopt if there is none.
  std::optional<double> remaining_seconds() const;

 private:
  enum class Purpose : std::uint8_t { kSearch, kBaseline, kCheck, kRace, kRaceBuild, kRevise };
  struct OrderContext {
    Purpose purpose = Purpose::kSearch;
    std::size_t kernel = 0;  // of a baseline; of a race's build: index of the finalist
    std::uint64_t race = 0;  // of a race and its builds
    DeviceName device;       // device that received it
    DeviceName checked;      // of a check: device of the checked result
    double value = 0;        // of a check: value of that result
    double limit_at = 0;     // of a direct order: it is lost after this time
    Request request;         // of an order of the search
    double build_seconds = 0;
    DeviceName builder;   // of an order to run
    int unconfirmed = 0;  // artifacts that differed from this machine's
  };
  struct Race {  // race in progress
    DeviceName device;
    Order order;
    double limit_seconds = 0;
    std::vector<std::optional<Built>> built;  // by finalist, for a device that cannot build
    std::size_t missing = 0;                  // builds and confirmations that are missing
    std::vector<Trial> trials;                // by finalist
    std::vector<std::size_t> racers;          // finalists that the device received
  };
  /// Artifact from a builder that this machine builds again to compare.
  struct Rebuild {
    Candidate candidate;
    Built built;
    DeviceName builder;
    std::uint64_t sequence = 0;  // of an order of the search whose trial waits
    DeviceName device;           // device that sent this trial
    Trial trial;
    OrderContext context;  // of a race's build
    int failures = 0;      // failures of this machine, see HandleRebuildFailure
    double again_at = 0;   // time of the next attempt; 0: in progress
  };
  struct TrialSinceBaseline {  // trial that a device returned since its last good baseline
    std::uint64_t ticket = 0;
    Request request;
  };

  void Handle(const BrokerEvent& incoming);
  void HandleAnnouncement(const BrokerEvent& incoming);
  void HandleHeartbeat(const BrokerEvent& incoming);
  void HandleResult(const BrokerEvent& incoming);
  void HandleControl(const BrokerEvent& incoming);
  void HandleJobAnnouncement(const BrokerEvent& incoming);
  void HandleCount(const BrokerEvent& incoming);
  void HandleRefused(const BrokerEvent& incoming);
  void Accept(LeaseTable::Entry& entry, const DeviceName& device, OrderResult result);
  void AcceptBuilt(LeaseTable::Entry& entry, const DeviceName& device, OrderResult& result);
  void AcceptTrial(LeaseTable::Entry& entry, const DeviceName& device, Trial trial);
  void KeepTrial(LeaseTable::Entry& entry, const DeviceName& device, Trial trial);
  bool MustConfirm(const LeaseTable::Entry& entry, const DeviceName& device,
                   const Trial& trial) const;
  void ConfirmTrial(Rebuild rebuild);
  void ConfirmWaiting(const std::string& task);
  void ConfirmBuilt(Rebuild rebuild);
  void StartRebuild(Rebuild rebuild);
  void TakeRebuilt();
  void Rebuilt(Rebuild rebuild, bool differs);
  /// Handles a build failure of this machine. The failure does not count against the candidate or
  /// its builder.
  void HandleRebuildFailure(Rebuild rebuild, const Executor::Event& event);
  void FinishRebuiltTrial(Rebuild rebuild, bool differs);
  void RebuiltRacer(Rebuild rebuild, bool differs);
  /// Ends the job because builders' artifacts cannot be confirmed.
  void EndUnconfirmed(const Status& why);
  void RacerIsBuilt(const OrderContext& context, Trial trial, std::optional<Built> built);
  void Distrust(const DeviceName& builder, const std::string& why);
  bool KeepsDevice(const DeviceName& name);
  void AcceptBaseline(const OrderContext& context, const DeviceName& device, const Trial& trial);
  void AcceptCheck(const OrderContext& context, const DeviceName& device, const Trial& trial);
  std::string RejectionReason(const LeaseTable::Entry& entry, const DeviceName& device,
                              const OrderResult& result) const;
  void Finish(LeaseTable::Entry& entry, Trial trial);
  void AcceptRaceBuild(const LeaseTable::Entry& entry, const DeviceName& device, Trial trial,
                       std::optional<Built> built);
  void AcceptRace(std::uint64_t race, const DeviceName& device, std::vector<Trial> trials);
  void PublishRace(std::uint64_t race);
  void Drop(std::uint64_t sequence, bool acknowledge);
  /// Switches the job to builders of the fleet.
  void Split();
  void Tick();
  void PublishJob(double now);
  void DoubtRecentTrials(const DeviceName& device);
  /// Returns the job's weight, raised by its urgency.
  double WeightNow(double now) const;
  void WatchBroker(double absent);
  void ExpireLeases(double now);
  void ExtendLeases(double now);
  void HandleLoss(std::uint64_t sequence);
  void Baselines(double now);
  void ForgetDevices(double now);
  void Exclude(const DeviceName& device, const std::string& why);
  void Audit(double now);
  void Requeue(LeaseTable::Entry& entry);
  void BypassQueue(LeaseTable::Entry& entry);
  std::optional<DeviceName> ChooseTrustedDevice(const Order& order) const;
  void ConsiderBaselineKernel(const Candidate& candidate, const Trial& trial,
                              const std::vector<Built>& built);
  void ConsiderCheck(const Candidate& candidate, const DeviceName& device, const Trial& trial,
                     const std::vector<Built>& built);
  std::uint64_t Enqueue(Order order, OrderContext context, std::uint64_t ticket);
  std::uint64_t PublishOrder(const DeviceName& device, Order order, OrderContext context);
  Order OrderFor(const Candidate& candidate) const;
  Queue QueueOf(const Order& order) const;
  void AcknowledgeHandle(const std::string& handle, AckType verdict);
  void Log(const std::string& text) const { log_.Publish(text); }

  const DispatcherSettings settings_;
  Broker& broker_;
  Clock& clock_;
  RateLimitedLog log_;
  const Queue measure_queue_, build_queue_;
  LeaseTable lease_table_;
  DeviceRegistry device_registry_;
  std::map<std::uint64_t, OrderContext> contexts_;       // by sequence
  std::deque<std::pair<std::uint64_t, Reply>> replies_;  // sequence (0: none) and reply
  std::map<std::uint64_t, std::uint64_t> taken_;         // ticket to sequence, until MarkStored
  std::map<std::uint64_t, Race> racing_;
  std::map<std::uint64_t, RaceResult> races_;  // finished races
  std::uint64_t next_race_ = 1;
  std::map<DeviceName, std::vector<TrialSinceBaseline>> trials_since_baseline_;
  struct Kernel {
    Candidate candidate;
    std::vector<Built> built;
    double seconds = 0;
  };
  std::vector<Kernel> kernels_;
  std::map<std::string, double> best_;        // by task: scaled value of the best trial
  std::map<std::string, int> failed_checks_;  // by device: checks that contradicted its times
  std::map<std::string, int>
      protocol_violations_;  // by worker: results without an order, and unknown orders
  std::map<DeviceName, Announcement> builders_;
  std::map<DeviceName, double> builder_last_seen_;
  bool split_ = false, queue_broken_ = false, superseded_ = false;
  int in_flight_ = 0;
  int audits_short_[2] = {0, 0};  // in a row, of the measure queue and of the build queue
  std::int64_t done_ = 0, connections_ = 0;
  std::uint64_t floor_ = 0;
  double ticked_at_ = 0, polled_at_ = 0, published_at_ = 0, audited_at_ = 0, refused_at_ = 0;
  double began_at_ = 0, deadline_at_ = 0;        // monotonic seconds; 0: no deadline
  double silent_seconds_ = 0;                    // since the broker last replied
  std::unique_ptr<Executor> local_executor_;     // null: not split, or none is configured
  std::map<std::uint64_t, Rebuild> rebuilding_;  // by number in the executor
  /// By task with a trial in confirmation: the trials that arrived meanwhile. Most of them need no
  /// build, because they are slower than that trial.
  std::map<std::string, std::vector<Rebuild>> unconfirmed_;
  std::map<std::string, std::string>
      local_builds_;                  // by candidate: BuiltText of this machine's build
  std::set<std::string> distrusted_;  // workers whose artifacts differed from this machine's
  std::uint64_t next_rebuild_ = 1;
  std::uint64_t checks_seen_ = 0;
  Status ended_;
  DispatcherCounts counts_;
};

}  // namespace tilewright::measure::fleet
