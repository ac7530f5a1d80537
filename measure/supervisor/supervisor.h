#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "measure/messages.h"
#include "measure/supervisor/core_choice.h"
#include "measure/supervisor/kept_kernels.h"
#include "measure/supervisor/process_measurer.h"
#include "measure/supervisor/remote.h"
#include "measure/supervisor/time_ledger.h"
#include "measure/supervisor/worker_process.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_folder.h"

namespace tilewright::measure {

/// A candidate on its way through the supervisor.
struct Job {
  Request request;
  Fault fault;
  bool racing = false;  ///< waits for the others of its race instead of being timed alone
  double known_seconds = 0;  ///< a race: see RaceTerms
  bool anchor = false;
  std::uint64_t task = 0;  ///< the supervisor's number of it
  Trial trial;          ///< filled on the way
  KernelSpec kernel;    ///< once built
  int tries = 0;        ///< how often it failed by what may not have been its fault
};

/// What the caller's thread and the supervising thread share. Everything is guarded by `mutex`.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> incoming;
  std::deque<Reply> finished;
  std::vector<Job> race;  ///< to be raced; taken by the supervisor
  RaceTerms race_terms;
  bool drop_wanted = false;            ///< what waits is to be dropped
  std::vector<std::uint64_t> dropped;  ///< tickets, once it is
  std::optional<std::vector<Trial>> race_result;
  std::optional<Greeting> greeting;
  TimeLedger ledger{0};
  std::vector<int> worker_pids;
  Status broken;  ///< not ok: nothing more will come
  bool stop = false;
};

/// Keeps builders and the runner busy: one order each at a time, the next one the moment an answer
/// comes. Runs in a thread of its own (the workers die with that thread).
class Supervisor {
 public:
  /// wake_fd: becomes readable when the mailbox has something new.
  Supervisor(const ProcessMeasurerSettings& settings, Mailbox& mailbox, std::string folder,
             DeviceFingerprint device, const CoreChoice& cores, int wake_fd);
  void Run();

 private:
  enum class Role : std::uint8_t { kBuild, kReference, kRun };
  /// What is known of a runner beyond its process.
  struct RunnerState {
    bool greeted = false;          ///< it has said what it is, since it was started
    bool racing = false;           ///< the race is its
    bool given_up = false;         ///< its connection stays broken; others go on
    double connected_at = 0;       ///< until when it was connected; at first, when it was first called
    double reconnect_seconds = 0;  ///< before it is called again
    FileSender files = {};         ///< if it is on another machine
  };
  struct Worker {
    Role role;
    WorkerProcess process;
    std::optional<std::uint64_t> job;  ///< key in jobs_ of what it works on
    std::uint64_t reference = 0;       ///< kReference: the task whose results it makes
    RunnerState runner = {};           ///< kRun
    double ready_after = 0;            ///< not to be started before (it failed just now)
    bool probing = false;              ///< works on the probe
    int failures = 0;   ///< since its last result; calls that get no connection do not count
    bool ends = false;  ///< said so with its last reply; started anew for the next order
  };
  enum class ReferenceState : std::uint8_t { kWanted, kUnderWay, kReady, kFailed };
  struct Reference {
    std::string path;
    ReferenceState state = ReferenceState::kWanted;
    std::string reason;
    int tries = 0;  ///< that failed by what may be the machine's fault
    double best = 0;  ///< value of the best verified trial of these operands; 0 if there is none
  };
  /// A candidate that failed by what may be the machine's fault: a probe decides.
  struct Suspect {
    std::uint64_t job;
    Outcome outcome;
    std::string reason;
    Blame blame;
  };
  enum class ProbeState : std::uint8_t { kNone, kWanted, kBuilding, kBuilt, kLoading };

  // Giving orders.
  void TakeMail();
  /// The expected results of its task are to be there before it runs.
  void WantReference(const Job& job);
  /// Forgets what is not being run, for the caller who asked for it; builds under way are ended.
  void DropWaiting();
  void Dispatch();
  void DispatchReference(Worker& worker);
  void DispatchBuild(Worker& worker);
  void DispatchRun(Worker& worker);
  bool StartRace(Worker& worker);
  /// tasks: numbers of those that the order names.
  void SendTo(Worker& worker, const Json& order, double limit_seconds,
              const std::vector<std::uint64_t>& tasks = {});
  /// The same for the runner, which gets the files first if it is on another machine.
  void SendRun(Worker& worker, RunOrder order, double limit_seconds);
  /// Its candidates have failed, through no fault of the worker.
  void Withdraw(Worker& worker, const RunOrder& order, const std::string& why);
  void EnsureRunner(Worker& worker);
  /// The runner has answered everything: it is free for the next order.
  void Release(Worker& worker);
  RunOrder::Item ItemOf(std::uint64_t id, const Job& job) const;
  void PauseBuilders(bool pause);

  // Hearing answers.
  void Wait();
  void HearFrom(Worker& worker);
  Status HandleLine(Worker& worker, const std::string& line);
  void HandleBuilt(Worker& worker, BuildReply reply);
  /// Errors: kCorrupt for a candidate that the runner does not have.
  Status HandleRan(Worker& worker, const RunReply& reply);
  void CheckDeadlines();
  /// The worker died, hangs or talks nonsense: what it worked on has failed.
  void Lose(Worker& worker, const std::string& why, bool timed_out);
  /// by_system: it was killed from outside, or could not be started.
  void LoseBuild(Worker& worker, const std::string& why, bool timed_out, bool by_system);
  void LoseRun(Worker& worker, const std::string& why, bool timed_out);
  /// Decides when a lost worker is started again; gives up a connection that stays broken.
  void CallAgain(Worker& worker, const std::string& why);
  Status HandleGreeting(Worker& worker, const Json& json);

  // The probe (supervisor_probe.cc).
  /// A failure that may be the machine's: the job waits for what a probe finds.
  void Suspected(Suspect suspect);
  /// Whether a probe says that nothing can work here now.
  bool Halted() const { return probe_failures_ > 0; }
  bool DispatchProbe(Worker& worker);
  void HandleProbed(Worker& worker, const ProbeReply& reply);
  void ProbeSucceeded();
  void ProbeFailed(const std::string& why);
  /// Takes another folder if what folder_ is in lacks room or rights now and another place does
  /// not.
  void ChangeFolder();
  /// The reference result is to be made where there is room.
  void MoveReference(Reference& reference);
  /// The reference maker failed by what may be the machine's fault.
  void RetryReference(Worker& worker, Reference& reference, const std::string& why);
  /// Seconds to wait after so many failures that are the machine's.
  double PauseAfter(int failures) const;
  /// As GiveUp, for what this machine lacks: nothing becomes a result of the candidates.
  void StopForMachine(const std::string& why);

  // Ending jobs.
  void Finish(std::uint64_t id, Outcome outcome, std::string reason);
  void FinishRace();
  void GiveUp(const Status& why);
  /// Books what the workers do now, as begun at `since` (monotonic seconds).
  void UpdateLedger(double since);
  /// A racing candidate need not be built again if it may turn out to be one: keeps its kernel.
  void KeepKernel(Job& job);
  /// Of a connection that stays broken, or of a runner that fails again and again.
  void GiveUpRunner(Worker& worker, const std::string& why);
  double BuildLimit() const { return settings_.build_limit_seconds; }
  double RunLimit(const Job& job) const;
  double Patience() const;

  const ProcessMeasurerSettings settings_;
  Mailbox& mailbox_;
  std::string folder_;                       ///< where artifacts and reference results are put
  std::vector<LockedFolder> other_folders_;  ///< made where the first one had no room any more
  const DeviceFingerprint device_;
  const int wake_fd_;
  SystemClock clock_;
  std::deque<Worker> workers_;  // builders, then the reference maker, then the runner
  std::map<std::uint64_t, Job> jobs_;
  TaskTable tasks_;
  std::map<std::uint64_t, Reference> references_;  // by task
  std::deque<std::uint64_t> references_wanted_;    // tasks, in the order they are needed
  KeptKernels kept_;
  std::deque<std::uint64_t> to_build_, to_run_;
  std::vector<std::uint64_t> racing_;  // in the caller's order; empty when there is no race
  std::vector<Trial> race_trials_;
  RaceTerms race_terms_;
  std::size_t race_waiting_ = 0;  // racers not built yet
  bool race_running_ = false;
  std::uint64_t next_id_ = 1;
  ProbeState probe_ = ProbeState::kNone;
  ProbeOrder probe_order_;
  std::vector<Suspect> suspects_;  // wait for a probe
  std::vector<Suspect> checking_;  // of them: the probe that is under way decides
  double probe_after_ = 0;         // not before; monotonic seconds
  int probe_failures_ = 0;         // in a row
  bool unprotected_said_ = false;  // what the sandbox lacks
  double build_seconds_ = 0;       // a usual build: a moving average
  bool broken_ = false;
};

}  // namespace tilewright::measure
