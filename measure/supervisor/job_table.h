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

/// Number of a job; the ticket of its orders. Unique, from 1.
using JobId = std::uint64_t;

enum class JobState : std::uint8_t {
  kToBuild,   ///< waits for a builder
  kBuilding,  ///< a builder has it
  kBuilt,     ///< waits for its reference result and a runner; in a race, for the other contenders
  kRunning,   ///< a runner has it
  kUndiagnosed,  ///< its failure may not be its own: a probe decides
};

/// Failure of a candidate, with its possible fault domain.
struct JobFailure {
  Outcome outcome = Outcome::kRunFailed;
  std::string reason;
  FaultDomain fault_domain = FaultDomain::kCandidate;
};

/// Parts of a candidate's measurement that this supervisor executes.
enum class JobPart : std::uint8_t {
  kWhole,
  kBuild,  ///< build only: TakeBuilt returns its kernel
  kRun,    ///< run only: another machine built its kernel
};

/// Candidate in the supervisor.
struct Job {
  Request request;
  Fault fault;
  JobPart part = JobPart::kWhole;
  bool racing = false;       ///< waits for the others of its race
  double known_seconds = 0;  ///< in a race: see RaceSettings
  bool anchor = false;
  JobState state = JobState::kToBuild;
  std::uint64_t task = 0;  ///< its number in the table of tasks
  Trial trial;             ///< completed step by step
  KernelSpec kernel;       ///< after the build
  int tries = 0;           ///< number of failures that may not be its own
  JobFailure failure;      ///< while undiagnosed
};

enum class ReferenceState : std::uint8_t { kNeeded, kInProgress, kReady, kFailed, kNotNeeded };

/// Expected results of a task's kernels. Kernels of the task wait for them, except those that are
/// not compared with them (Request::unverified).
struct Reference {
  ReferenceState state = ReferenceState::kNeeded;
  std::string path;    ///< from kInProgress on
  std::string reason;  ///< if kFailed
  int tries = 0;       ///< that failed by what may be the machine's fault
  double best = 0;     ///< value of the best verified trial of these operands; 0: unknown
};

/// Returns the text without line ends: texts of workers go into records and onto terminals.
std::string OneLine(std::string text);

/// Table of all jobs and of the references of their tasks: it decides which job may continue with
/// which step. It is independent of workers: the pools take jobs and report the results. Not
/// thread-safe. Included by .cc files of measure/ only.
class JobTable {
 public:
  /// device: fingerprint of the trials.
  JobTable(DeviceFingerprint device, Clock& clock) : device_(std::move(device)), clock_(clock) {}

  /// Adds a job, which waits for a builder.
  JobId Add(Job job);
  /// Adds the contenders of a race, in the caller's order; those whose kernels are cached need no
  /// build. One race at a time.
  void AddRace(std::vector<Job> racers, const RaceSettings& terms);
  bool HasRace() const { return race_.has_value(); }

  bool empty() const { return jobs_.empty(); }
  bool Contains(JobId id) const { return jobs_.contains(id); }
  const Job& At(JobId id) const { return jobs_.at(id); }
  const Job& first() const { return jobs_.begin()->second; }
  const TaskTable& tasks() const { return tasks_; }

  /// Takes the next job to build; its state becomes kBuilding.
  std::optional<JobId> TakeToBuild();
  /// Marks a job as built. Requires kBuilding, as all functions that end a build.
  void MarkBuilt(JobId id, KernelSpec kernel);
  /// Records the duration of a build, successful or not.
  void RecordBuildSeconds(JobId id, double seconds);
  /// Returns a moving average of the build duration.
  double build_seconds() const { return build_seconds_; }
  /// Returns whether `builders` builders take longer than the runner for recent jobs, so that it
  /// waits for them.
  bool BuildersAreBottleneck(int builders) const {
    return build_seconds_ > builders * run_seconds_;
  }
  std::size_t waiting_to_build() const { return to_build_.size(); }
  /// Number of candidates that are built and in no race.
  std::size_t waiting_to_run() const { return to_run_.size(); }

  /// Takes the task whose reference result is needed first; it is in progress now.
  std::optional<std::uint64_t> TakeReference();
  Reference& reference(std::uint64_t task) { return references_.at(task); }

  /// Takes the next job to run; its state becomes kRunning. Finishes jobs that can never run.
  std::optional<JobId> TakeToRun();
  /// Takes all contenders once each is built and has its reference result; their states become
  /// kRunning.
  std::vector<JobId> TakeRace();
  const RaceSettings& race_settings() const { return race_->terms; }
  /// Requeues the contenders after the loss of their runner. Returns false, and does nothing, if
  /// that has happened to them before, or some of them have been measured: the others would race
  /// alone.
  bool RequeueRace();
  /// Records the runner's reply: a result, or an undiagnosed failure.
  void CompleteRun(const RunReply& reply);

  /// Marks a failure that may not be the candidate's own. A built contender is known to work, so it
  /// fails at once.
  void MarkUndiagnosed(JobId id, JobFailure failure);
  bool HasUndiagnosed() const { return !undiagnosed_.empty(); }
  /// Takes the undiagnosed jobs that no probe covers yet.
  std::vector<JobId> TakeUndiagnosed() { return std::exchange(undiagnosed_, {}); }
  /// Queues an undiagnosed job for another build, before all others.
  void RebuildJob(JobId id);

  /// Completes the trial: TakeFinished() returns it, or TakeRaceResult() with the last one of its
  /// race.
  void Finish(JobId id, Outcome outcome, std::string reason);
  std::vector<Reply> TakeFinished() { return std::exchange(finished_, {}); }
  /// Takes the kernels of finished build-only jobs, by the caller's tickets, with the ownership of
  /// their files.
  std::map<std::uint64_t, KernelSpec> TakeBuilt() { return std::exchange(built_, {}); }
  std::optional<std::vector<Trial>> TakeRaceResult() {
    return std::exchange(race_result_, std::nullopt);
  }
  /// Drops all jobs that are not running, except a race. Returns their tickets.
  std::vector<std::uint64_t> CancelPending();
  /// Clears the cache of kernels for races, and removes their files.
  void ClearKernelCache() { kernel_cache_.Clear(); }

  /// Finishes all jobs as device_lost, because no further measuring is possible.
  void GiveUp(const Status& why);
  /// Drops all jobs for a failure that is not the device's: they will be tried again.
  void AbandonAll(const Status& why);
  /// Not ok after GiveUp or AbandonAll.
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
  /// Caches the kernel of a job that may become a contender of a race, so that it is not built
  /// again.
  void CacheKernel(Job& job);
  void FinishRacer(JobId id, Trial trial);

  const DeviceFingerprint device_;
  Clock& clock_;
  JobId next_id_ = 1;
  std::map<JobId, Job> jobs_;
  std::deque<JobId> to_build_, to_run_;  // of kToBuild; of kBuilt and in no race
  std::vector<JobId> undiagnosed_;       // of kUndiagnosed, without a probe yet
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
