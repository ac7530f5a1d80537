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
  std::uint64_t epoch = 1;   ///< of this life: another one for each
  std::string device_class;  ///< whose devices measure
  DeviceFingerprint device;  ///< what they are
  double weight = 1;         ///< see JobAnnouncement
  std::string what;          ///< for people
  /// The job is to be over then, in seconds since 1970; 0: whenever. From the middle of the time
  /// until then on its weight rises, up to kUrgency times at the end.
  double deadline_unix_seconds = 0;
  static constexpr double kUrgency = 4;
  /// After so long without a word of the broker the job ends (and may be gone on with).
  double broker_timeout_seconds = 600;
  double lease_seconds = Broker::kLeaseSeconds;
  int max_lost_workers = 3;         ///< workers that a candidate may take down
  int baseline_kernels = 2;         ///< at most
  double check_share = 0.25;        ///< of the best results, measured once more elsewhere; 0: none
  double publish_seconds = 1;       ///< between two words of the job
  double audit_seconds = 5;         ///< between two looks at what the queue holds
  double race_limit_seconds = 120;  ///< a race may take, beyond its terms
  DeviceRegistry::Settings device_registry;
  /// Makes what builds candidates on this machine, when builders of the fleet first build for the
  /// job: what they made is confirmed by it (see ConfirmBuilt) before its times count as the best.
  /// If it fails, or its bench does later, the job ends with that status and can be resumed.
  /// Empty: builders are believed, for benchmarks and simulations.
  std::function<Result<std::unique_ptr<Executor>>()> make_local_executor;
  // What others may take of this process's memory.
  std::size_t max_devices = 16384, max_devices_of_worker = 4096, max_builders = 4096;
  /// Called what people may want to know. May be empty.
  std::function<void(const std::string&)> on_note;
};

/// What the dispatcher has counted, for benchmarks and people.
struct DispatcherCounts {
  std::int64_t results = 0, late = 0, duplicates = 0, foreign = 0, lost = 0, resent = 0,
               refused = 0, revised = 0, baselines = 0, checks = 0, checks_failed = 0, poisoned = 0;
  /// Artifacts of builders that were built here once more, and those of them that differed.
  std::int64_t rebuilt = 0, unconfirmed = 0;
  double longest_recovery_seconds = 0;  ///< see LeaseTable
};

/// Key of a candidate's task: its workload and epilogue.
std::string TaskKey(const Candidate& candidate);

/// The tuner's side of a fleet: puts orders into queues, keeps the leases of those who have them,
/// judges results, and knows the devices. Everything happens inside Poll, on the caller's thread;
/// the clock may be a made-up one. Not thread-safe.
class Dispatcher {
 public:
  /// broker, clock: outlive it.
  Dispatcher(DispatcherSettings settings, Broker& broker, Clock& clock);

  /// Makes the queue and begins to listen. Errors: the broker's.
  Status Open();
  /// Says that nothing of the job is wanted any more, and removes its queue.
  void Close();

  Status Submit(Request request);
  /// Handles what has come, for so long at most if nothing does, and what is due.
  void Poll(double seconds);
  /// Results, in the order they came; each waits for Stored.
  std::optional<Reply> Take();
  /// The trial of this ticket is in the store: the broker may forget the order.
  void MarkStored(std::uint64_t ticket);
  /// See Measurer.
  std::vector<std::uint64_t> CancelPending();
  /// Orders of the caller that were not taken with Take.
  int in_flight() const { return in_flight_; }

  /// A race of built or unbuilt candidates begins on a device; nullopt while no device can have it.
  /// other_than: not on this one.
  std::optional<std::uint64_t> StartRace(const std::vector<Candidate>& finalists,
                                         const RaceSettings& terms,
                                         const std::optional<DeviceName>& other_than);
  /// What came of it, once; nullopt: not yet. A race whose device was lost gives no trials.
  struct RaceResult {
    DeviceName device;
    std::vector<Trial> trials;
  };
  std::optional<RaceResult> TakeRace(std::uint64_t race);

  /// Not ok once the job was cancelled, a later life of it has begun, the broker was away for too
  /// long, or this machine cannot confirm what builders make.
  const Status& ended() const { return ended_; }
  const DeviceRegistry& device_registry() const { return device_registry_; }
  /// Candidates of this job are built by builders elsewhere.
  bool split() const { return split_; }
  /// ... and there is none.
  bool lacks_builders() const { return split_ && builders_.empty(); }
  DispatcherCounts counts() const;
  std::int64_t done() const { return done_; }
  /// Seconds until the deadline; nullopt: there is none.
  std::optional<double> remaining_seconds() const;

 private:
  enum class Purpose : std::uint8_t { kSearch, kBaseline, kCheck, kRace, kRaceBuild, kRevise };
  struct OrderContext {
    Purpose purpose = Purpose::kSearch;
    std::size_t kernel = 0;  // of a baseline; of a race's build: which finalist
    std::uint64_t race = 0;  // of a race and its builds
    DeviceName device;       // it was said to
    DeviceName checked;      // of a check: whose result it is
    double value = 0;        // ... and what it was
    double limit_at = 0;     // of what is said directly: then it is lost
    Request request;         // of a search's order
    double build_seconds = 0;
    DeviceName builder;   // of what is to be run
    int unconfirmed = 0;  // artifacts that were others here
  };
  struct Race {  // that is under way
    DeviceName device;
    Order order;
    double limit_seconds = 0;
    std::vector<std::optional<Built>> built;  // by finalist, of a device that cannot build
    std::size_t missing = 0;                  // builds, and what confirms them
    std::vector<Trial> trials;                // by finalist
    std::vector<std::size_t> racers;          // finalists that the device got
  };
  /// An artifact that a builder made, while this machine builds the same.
  struct Rebuild {
    Candidate candidate;
    Built built;
    DeviceName builder;
    std::uint64_t sequence = 0;  // of a search's order, whose trial waits
    DeviceName device;           // ... which this one gave
    Trial trial;
    OrderContext context;  // of a race's build
    int failures = 0;      // of this machine, see HandleRebuildFailure
    double again_at = 0;   // it is built again then; 0: it is under way
  };
  struct TrialSinceBaseline {  // a trial that a device gave since its last good baseline
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
  /// This machine could not build it: no word against the candidate or its builder.
  void HandleRebuildFailure(Rebuild rebuild, const Executor::Event& event);
  void FinishRebuiltTrial(Rebuild rebuild, bool differs);
  void RebuiltRacer(Rebuild rebuild, bool differs);
  /// Ends the job: artifacts of builders cannot be confirmed.
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
  /// From now on builders build.
  void Split();
  void Tick();
  void PublishJob(double now);
  void DoubtRecentTrials(const DeviceName& device);
  /// The job's weight, and how urgent it is.
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
  std::map<std::uint64_t, std::uint64_t> taken_;         // ticket to sequence, until Stored
  std::map<std::uint64_t, Race> racing_;
  std::map<std::uint64_t, RaceResult> races_;  // that are over
  std::uint64_t next_race_ = 1;
  std::map<DeviceName, std::vector<TrialSinceBaseline>> trials_since_baseline_;
  struct Kernel {
    Candidate candidate;
    std::vector<Built> built;
    double seconds = 0;
  };
  std::vector<Kernel> kernels_;
  std::map<std::string, double> best_;        // by task: scaled value of the best trial
  std::map<std::string, int> failed_checks_;  // by device: checks that found other times
  std::map<std::string, int>
      protocol_violations_;  // by worker: answers to nothing, and orders not heard of
  std::map<DeviceName, Announcement> builders_;
  std::map<DeviceName, double> builder_last_seen_;
  bool split_ = false, queue_broken_ = false, superseded_ = false;
  int in_flight_ = 0;
  int audits_short_[2] = {0, 0};  // in a row, of the queue to measure and of that to build
  std::int64_t done_ = 0, connections_ = 0;
  std::uint64_t floor_ = 0;
  double ticked_at_ = 0, polled_at_ = 0, published_at_ = 0, audited_at_ = 0, refused_at_ = 0;
  double began_at_ = 0, deadline_at_ = 0;        // of the clock's monotonic seconds; 0: no deadline
  double silent_seconds_ = 0;                    // since the broker last answered
  std::unique_ptr<Executor> local_executor_;     // null: not split, or none is configured
  std::map<std::uint64_t, Rebuild> rebuilding_;  // by their numbers there
  /// By task of which a trial is being confirmed: those that came meanwhile. Most need no build, as
  /// they are slower than that one.
  std::map<std::string, std::vector<Rebuild>> unconfirmed_;
  std::map<std::string, std::string>
      local_builds_;                  // by candidate: BuiltText of what was built here
  std::set<std::string> distrusted_;  // workers whose artifacts were others here
  std::uint64_t next_rebuild_ = 1;
  std::uint64_t checks_seen_ = 0;
  Status ended_;
  DispatcherCounts counts_;
};

}  // namespace tilewright::measure::fleet
