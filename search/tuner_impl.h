#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "search/task_scheduler.h"
#include "search/task_state.h"
#include "search/tuner.h"
#include "search/warm_start.h"
#include "search/worker_thread.h"
#include "search/writer.h"

namespace tilewright::search {

/// What a budget keeps for a final race, in seconds per racer (as measured).
inline constexpr double kRacerSeconds = 0.35;
/// ... and a race takes at least, if it takes place.
inline constexpr double kMinRaceSeconds = 0.05;

/// One call of Tune. See tuner.cc for the order of events.
class TuneRun {
 public:
  TuneRun(const JobSettings& settings, const TuneContext& context)
      : settings_(settings), context_(context) {}

  /// Spaces, job and, if the job has been run before, its state (resume.cc). life: how many logs of
  /// the job were left because they no longer replay.
  Status Open(const std::vector<TuneTask>& tasks, int life);
  /// After Open has failed: whether for a log that is whole, but leads elsewhere today.
  bool log_diverged() const { return log_diverged_; }
  /// After Search: whether it was stopped from outside.
  bool interrupted() const { return interrupted_; }
  /// Searches until the limits are reached, every task is retired, or stop is requested.
  Status Search();
  /// After Search. Errors: kInvalidArgument with the reasons if no config of any task is legal, so
  /// that nothing was measured.
  Status CheckAnyTrial() const;
  /// Races the finalists of every task and stores the winners (race.cc).
  Status Race();
  /// After a search that was interrupted: the report says what the races of earlier runs said.
  void ReportEarlierRaces();
  TuneReport Report();

 private:
  /// What a piece of thinking gives back to the thread of Tune.
  struct Proposal {
    int task = 0;
    std::vector<Point> points;
    std::vector<float> scores;
    std::string strategy_state;
    std::int64_t filtered = 0;
    Status status;
  };
  /// A submitted point by its ticket.
  struct BatchSlot {
    std::int64_t batch = 0;
    std::size_t slot = 0;
    bool again = false;  ///< the device was lost with it once
  };

  // resume.cc
  Status Resume();
  Status CheckVersions() const;
  Status Replay(const std::vector<TaskLog>& logs);
  /// Takes the time of earlier lives from the notes in the log.
  Status RestoreElapsedTime();
  /// What was verified at the end of an earlier life of the job.
  Status ReplayVerified(TaskState& state) const;
  Status ReplayAsk(int task, const AskEntry& ask,
                   const std::map<std::pair<std::int64_t, std::int64_t>, const TellEntry*>& tells);
  Status MakeStrategy(int task, const BeginEntry& begin);

  // tuner.cc
  std::int64_t Lookahead() const;
  bool MayPlan(double now);
  Status Plan();
  int BatchSize() const;
  /// Hands the results of a complete batch to scheduler and task, and forgets it.
  void TellBatch(const BatchState& batch);
  std::vector<std::int64_t> TellFinishedBatches(std::int64_t upto);
  void RetireStaleTasks();
  void RunStrategy(int task, int count, std::vector<Observation> results);
  void TrainModel(int task, bool wait);
  Status TakeProposal();
  /// Hands the measurer the points of a batch that have no result, within the limit of trials.
  Status Submit(const BatchState& batch);
  /// Every trial that the limit allows is done or under way.
  bool TrialsSpent() const;
  Status SubmitPoint(const BatchState& batch, BatchSlot place);
  /// Stores the trial of a device that was lost, and has the point measured once more.
  Status Resubmit(BatchSlot place, Trial lost);
  Status SubmitNew();
  Status HandleReplies(double timeout_seconds);
  /// Errors: kUnavailable, naming the device, for an ok trial without all metrics of the job: a
  /// worker of an earlier version would make all of the job's work useless.
  Status CheckAllMetrics(const Trial& trial) const;
  /// Drops what a trial says by metrics that the job did not ask for.
  void DropUnrequestedMetrics(Trial& trial) const;
  Observation ObservationOf(Point point, const Trial& trial) const;
  /// Hands a trial and its entry of the log to the writer.
  void Store(std::uint64_t ticket, const BatchSlot& place, Trial trial);
  /// Beside a trial that is there: its device may have spoilt that one.
  void StoreRevised(Trial trial);
  void Acknowledge(const Writer::Item& item);
  void Retire(int task, std::string reason);
  bool StopRequested() const { return context_.stop != nullptr && context_.stop->load(); }
  double Elapsed() const;
  double EtaSeconds() const;
  std::string LimitReached() const;
  /// Seconds of all lives after which the job is over, by its budget or its deadline; 0: none.
  double LimitSeconds() const;
  /// The search's part of them is over: what is not being run is not run any more.
  bool BudgetSpent() const;
  /// Takes back what the measurer has not begun to run. A resumed job asks for it again.
  void CancelPending();
  /// Seconds of the limit that the search leaves to the races.
  double RaceReserve() const;

  // report.cc
  /// Writes down that the job runs, and what it tunes.
  void LogRunStart();
  /// What the measurer's time since the search began was spent on.
  measure::TimeSplit SplitNow() const;
  /// Writes down where the time has gone, when it is due or `always`.
  void LogTime(bool always);

  // race.cc
  /// races_left: this one and those after it, which share what is left of the budget.
  Status RaceTask(int task, int races_left);
  /// The report of a task without a race of this run says what its last race said: that is served.
  static void ReportEarlierRace(TaskState& state);
  /// Of a task whose trials came unverified: the fastest that computes what it should is the best.
  Status VerifyFastest(TaskState& state);
  /// Executes what else is in a task's front, and what takes the places of those that compute
  /// something else. verified: the fastest, which has been.
  Status VerifyFront(TaskState& state, Point verified, std::int64_t attempt);
  /// Attempt of a task's next race: the one after all that the store has, since trials of a race
  /// that was interrupted keep their ids.
  Result<std::int64_t> NextAttempt(const TaskState& state) const;
  /// Stores the best of a task and what says so in the log; shows it in the report.
  Status StoreWinner(TaskState& state, const BestEntry& best, const Trial& trial);
  /// Seconds of the limit for each race that is left.
  double RaceShare(int races_left) const;
  /// The fastest trials, those in noise that may be as fast, and the default config, as many as
  /// the time left allows; none if it does not allow two.
  std::vector<Observation> Finalists(const TaskState& state, double seconds_left) const;
  measure::RaceSettings RaceSettingsOf(const TaskState& state,
                                       const std::vector<Observation>& finalists,
                                       int races_left) const;
  /// What the race says. winner: position of the winner, if any finalist may win.
  BestEntry WinnerOf(const TaskState& state, const std::vector<Observation>& finalists,
                     const std::vector<Trial>& raced, std::optional<std::size_t>& winner) const;
  /// How many of a task's fastest are kept for its race, which drops the slower ones soon.
  std::size_t KeptFastest() const { return 2 * static_cast<std::size_t>(settings_.finalists); }

  BatchState* FindBatch(std::int64_t number);
  TaskState& TaskAt(int task) { return *tasks_[static_cast<std::size_t>(task)]; }

  JobSettings settings_;
  const TuneContext& context_;
  std::vector<std::unique_ptr<TaskState>> tasks_;
  std::unique_ptr<TaskScheduler> scheduler_;
  std::unique_ptr<WarmPool> pool_;
  records::Job job_;
  bool counts_ = false;  // trials are counted (IsSimulated)

  // The pipeline.
  std::deque<BatchState> batches_;  // not told yet, in order of their numbers
  std::int64_t next_batch_ = 0;
  std::deque<std::int64_t> to_submit_;                  // numbers of batches
  std::map<std::uint64_t, BatchSlot> in_flight_slots_;  // of what is submitted and not durable
  std::uint64_t next_ticket_ = 1;
  std::optional<AskEntry> planned_;   // the ask under way
  double blocked_since_ = -1;         // of the pipeline running dry behind one slow trial
  std::int64_t proposed_trials_ = 0;  // of all lives

  // Bookkeeping.
  std::int64_t trials_ = 0, trials_this_run_ = 0;
  double start_seconds_ = 0;     // of this run
  double search_seconds_ = 0;    // wall time of Search in this run
  double race_seconds_ = 0;      // of the races in this run
  double earlier_seconds_ = 0;   // wall time of earlier lives
  double deadline_seconds_ = 0;  // from the beginning of this run; 0: none
  measure::TimeSplit before_;    // the measurer's at the start of Search
  measure::TimeSplit split_;     // of this run's Search
  double logged_wall_ = 0;       // of this run at its last note of the time
  bool interrupted_ = false;
  bool log_diverged_ = false;
  std::optional<double> dropped_at_;  // what waited when the time was over

  std::mutex proposal_mutex_;
  std::optional<Proposal> proposal_;  // guarded by proposal_mutex_
  std::atomic<double> model_seconds_{0};
  // Last, so that they end first: their work refers to the members above.
  std::unique_ptr<Writer> writer_;
  WorkerThread training_thread_;
  WorkerThread strategy_thread_;
};

}  // namespace tilewright::search
