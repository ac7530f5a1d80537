#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/measurer.h"
#include "measure/messages.h"
#include "measure/supervisor/built_kernel_cache.h"
#include "src/base/clock.h"

namespace tilewright::measure {

/// Number of a candidate on its way; the ticket of its orders. Given once, from 1.
using JobId = std::uint64_t;

enum class JobState : std::uint8_t {
  kToBuild,      ///< waits for a builder
  kBuilding,     ///< a builder has it
  kBuilt,        ///< waits for its reference result and a runner; in a race, for the other racers
  kRunning,      ///< a runner has it
  kUndiagnosed,  ///< it failed by what may not be its fault: a probe decides
};

/// How a candidate failed, and whose fault that may be.
struct JobFailure {
  Outcome outcome = Outcome::kRunFailed;
  std::string reason;
  FaultDomain fault_domain = FaultDomain::kCandidate;
};

/// What of the way a candidate goes here.
enum class JobPart : std::uint8_t {
  kWhole,
  kBuild,  ///< it is only built: its kernel comes out of TakeBuilt
  kRun,    ///< its kernel was built elsewhere
};

/// A candidate on its way through the supervisor.
struct Job {
  Request request;
  Fault fault;
  JobPart part = JobPart::kWhole;
  bool racing = false;       ///< waits for the others of its race instead of being timed alone
  double known_seconds = 0;  ///< a race: see RaceSettings
  bool anchor = false;
  JobState state = JobState::kToBuild;
  std::uint64_t task = 0;  ///< number of it in the table of tasks
  Trial trial;             ///< filled on the way
  KernelSpec kernel;       ///< once built
  int tries = 0;           ///< how often it failed by what may not have been its fault
  JobFailure failure;      ///< of a suspect
};

enum class ReferenceState : std::uint8_t { kNeeded, kInProgress, kReady, kFailed, kNotNeeded };

/// The expected results of a task's kernels: nothing of it is run before they are there, but for
/// what is not compared with them (Request::unverified).
struct Reference {
  ReferenceState state = ReferenceState::kNeeded;
  std::string path;    ///< from kInProgress on
  std::string reason;  ///< if kFailed
  int tries = 0;       ///< that failed by what may be the machine's fault
  double best = 0;     ///< value of the best verified trial of these operands; 0 if there is none
};

/// A line of it, without ends of lines: what workers say goes into records and onto terminals.
std::string OneLine(std::string text);

/// All candidates on their way, and what their tasks need: who may go on with what. It knows
/// nothing of workers; those who have them take a job, and say what became of it. Not thread-safe.
/// Included by .cc files of measure/ only.
class JobTable {
 public:
  /// device: what trials are said to be measured on.
  JobTable(DeviceFingerprint device, Clock& clock) : device_(std::move(device)), clock_(clock) {}

  /// A new job, which waits to be built.
  JobId Add(Job job);
  /// The racers, in the caller's order; those whose kernels are kept are built already. One race at
  /// a time.
  void AddRace(std::vector<Job> racers, const RaceSettings& terms);
  bool HasRace() const { return race_.has_value(); }

  bool empty() const { return jobs_.empty(); }
  bool Contains(JobId id) const { return jobs_.contains(id); }
  const Job& At(JobId id) const { return jobs_.at(id); }
  const Job& first() const { return jobs_.begin()->second; }
  const TaskTable& tasks() const { return tasks_; }

  /// The next one to be built, which is being built now.
  std::optional<JobId> TakeToBuild();
  /// It is built. Requires kBuilding, as all that ends a build.
  void MarkBuilt(JobId id, KernelSpec kernel);
  /// How long it took, built or not.
  void RecordBuildSeconds(JobId id, double seconds);
  /// A usual build: a moving average.
  double build_seconds() const { return build_seconds_; }
  /// So many builders take longer than the runner for what comes of late: it waits for them.
  bool BuildersAreBottleneck(int builders) const {
    return build_seconds_ > builders * run_seconds_;
  }
  std::size_t waiting_to_build() const { return to_build_.size(); }
  /// Candidates that are built and in no race.
  std::size_t waiting_to_run() const { return to_run_.size(); }

  /// The task whose reference result is to be made first; it is under way now.
  std::optional<std::uint64_t> TakeReference();
  Reference& reference(std::uint64_t task) { return references_.at(task); }

  /// The next one that can be run, which is being run now. Those that never can are finished.
  std::optional<JobId> TakeToRun();
  /// All racers, once each is built and has its reference result: they are being run now.
  std::vector<JobId> TakeRace();
  const RaceSettings& race_settings() const { return race_->terms; }
  /// The race's runner was lost: the racers wait for another one. returns false, and does nothing,
  /// if that has happened to them before, or some have been measured: the others would race alone.
  bool RequeueRace();
  /// What the runner found: a result, or what leaves a suspect.
  void CompleteRun(const RunReply& reply);

  /// It failed by what may not be its fault. A racer that is built is known to work: it has failed.
  void MarkUndiagnosed(JobId id, JobFailure failure);
  bool HasUndiagnosed() const { return !undiagnosed_.empty(); }
  /// Those that no probe has been made for yet.
  std::vector<JobId> TakeUndiagnosed() { return std::exchange(undiagnosed_, {}); }
  /// A suspect is built again, before all others.
  void RebuildJob(JobId id);

  /// Its trial is complete: it comes out of TakeFinished(), or out of TakeRaceResult() with the
  /// last one of its race.
  void Finish(JobId id, Outcome outcome, std::string reason);
  std::vector<Reply> TakeFinished() { return std::exchange(finished_, {}); }
  /// Kernels of finished jobs that were only to be built, by the caller's tickets: their files are
  /// the caller's.
  std::map<std::uint64_t, KernelSpec> TakeBuilt() { return std::exchange(built_, {}); }
  std::optional<std::vector<Trial>> TakeRaceResult() {
    return std::exchange(race_result_, std::nullopt);
  }
  /// Forgets all that is not being run; a race is not touched. returns the tickets.
  std::vector<std::uint64_t> CancelPending();
  /// Kernels are kept for races no more, nor their files.
  void ClearKernelCache() { kernel_cache_.Clear(); }

  /// Nothing can be measured any more: all jobs are finished as device_lost.
  void GiveUp(const Status& why);
  /// The same by no fault of any device: they are forgotten, and will be tried again.
  void AbandonAll(const Status& why);
  /// Not ok after one of these two.
  const Status& broken() const { return broken_; }

 private:
  struct Race {
    std::vector<JobId> racers;  // in the caller's order
    std::vector<Trial> trials;
    RaceSettings terms;
    std::size_t taken = 0;  // by the runner
    bool returned = false;
  };
  Job& Expect(JobId id, JobState state);
  void RemoveArtifact(const Job& job) const;
  /// A racing candidate need not be built again if it may turn out to be one: keeps its kernel.
  void CacheKernel(Job& job);
  void FinishRacer(JobId id, Trial trial);

  const DeviceFingerprint device_;
  Clock& clock_;
  JobId next_id_ = 1;
  std::map<JobId, Job> jobs_;
  std::deque<JobId> to_build_, to_run_;  // of kToBuild; of kBuilt and in no race
  std::vector<JobId> undiagnosed_;       // of kUndiagnosed: those that no probe is made for
  TaskTable tasks_;
  std::map<std::uint64_t, Reference> references_;  // by task, in the order they are needed
  BuiltKernelCache kernel_cache_;
  std::optional<Race> race_;
  std::vector<Reply> finished_;
  std::map<std::uint64_t, KernelSpec> built_;
  std::optional<std::vector<Trial>> race_result_;
  double build_seconds_ = 0, run_seconds_ = 0;
  Status broken_;
};

}  // namespace tilewright::measure
