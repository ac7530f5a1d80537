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

/// Part of a budget reserved for a final race, in seconds per racer (as measured).
inline constexpr double kRacerSeconds = 0.35;
/// Minimum duration of a race.
inline constexpr double kMinRaceSeconds = 0.05;

/// One call of Tune. See tuner.cc for the order of events.
class TuneRun {
 public:
  TuneRun(const JobSettings& settings, const TuneContext& context)
      : settings_(settings), context_(context) {}

  /// Opens the spaces and the job, and restores the state of earlier runs (resume.cc). life: number
  /// of the job's logs that were discarded because they no longer replay.
  Status Open(const std::vector<TuneTask>& tasks, int life);
  /// After a failed Open: returns whether the log is intact, but no longer replays.
  bool log_diverged() const { return log_diverged_; }
  /// After Search: returns whether it was stopped from outside.
  bool interrupted() const { return interrupted_; }
  /// Searches until the limits are reached, every task is retired, or stop is requested.
  Status Search();
  /// After Search. Errors: kInvalidArgument with the reasons if no config of any task is legal and
  /// therefore nothing was measured.
  Status CheckAnyTrial() const;
  /// Races the finalists of every task and stores the winners (race.cc).
  Status Race();
  /// After an interrupted search: reports the results of earlier runs' races.
  void ReportEarlierRaces();
  TuneReport Report();

 private:
  /// Result of the strategy thread for the thread of Tune.
  struct Proposal {
    int task = 0;
    std::vector<Point> points;
    std::vector<float> scores;
    std::string strategy_state;
    std::int64_t filtered = 0;
    Status status;
  };
  /// Submitted point by its ticket.
  struct BatchSlot {
    std::int64_t batch = 0;
    std::size_t slot = 0;
    bool again = false;  ///< measured again, because the device was lost once
  };

  // resume.cc
  Status Resume();
  Status CheckVersions() const;
  Status Replay(const std::vector<TaskLog>& logs);
  /// Restores the time of earlier runs from the log.
  Status RestoreElapsedTime();
  /// Replays the verifications at the end of an earlier run of the job.
  Status ReplayVerified(TaskState& state) const;
  Status ReplayAsk(int task, const AskEntry& ask,
                   const std::map<std::pair<std::int64_t, std::int64_t>, const TellEntry*>& tells);
  Status MakeStrategy(int task, const BeginEntry& begin);

  // tuner.cc
  std::int64_t Lookahead() const;
  bool MayPlan(double now);
  Status Plan();
  int BatchSize() const;
  /// Passes the results of a complete batch to scheduler and task, and removes the batch.
  void TellBatch(const BatchState& batch);
  std::vector<std::int64_t> TellFinishedBatches(std::int64_t upto);
  void RetireStaleTasks();
  void RunStrategy(int task, int count, std::vector<Observation> results);
  void TrainModel(int task, bool wait);
  Status TakeProposal();
  /// Submits the points of a batch that have no result to the measurer, within the limit of trials.
  Status Submit(const BatchState& batch);
  /// Returns whether all trials within the limit are finished or in progress.
  bool TrialsSpent() const;
  Status SubmitPoint(const BatchState& batch, BatchSlot place);
  /// Stores the trial of a lost device, and submits the point once more.
  Status Resubmit(BatchSlot place, Trial lost);
  Status SubmitNew();
  Status HandleReplies(double timeout_seconds);
  /// Checks that an ok trial has all metrics of the job. Errors: kUnavailable, naming the device. A
  /// worker of an earlier version would otherwise make all of the job's work useless.
  Status CheckAllMetrics(const Trial& trial) const;
  /// Removes a trial's values of metrics that the job does not request.
  void DropUnrequestedMetrics(Trial& trial) const;
  Observation ObservationOf(Point point, const Trial& trial) const;
  /// Passes a trial and its log entry to the writer.
  void Store(std::uint64_t ticket, const BatchSlot& place, Trial trial);
  /// Stores a trial in addition to an existing one, which its device may have spoilt.
  void StoreRevised(Trial trial);
  void Acknowledge(const Writer::Item& item);
  void Retire(int task, std::string reason);
  bool StopRequested() const { return context_.stop != nullptr && context_.stop->load(); }
  double Elapsed() const;
  double EtaSeconds() const;
  std::string LimitReached() const;
  /// Returns the seconds of all runs after which the job ends, by its budget or its deadline; 0:
  /// none.
  double LimitSeconds() const;
  /// Returns whether the search's part of the limit is spent. Nothing new is run after that.
  bool BudgetSpent() const;
  /// Cancels what the measurer has not started to run. A resumed job submits it again.
  void CancelPending();
  /// Returns the seconds of the limit that the search reserves for the races.
  double RaceReserve() const;

  // report.cc
  /// Logs the start of this run, and the tasks.
  void LogRunStart();
  /// Returns the time split of the measurer since the search began.
  measure::TimeSplit SplitNow() const;
  /// Logs the time split when it is due, or if `always`.
  void LogTime(bool always);

  // race.cc
  /// races_left: this race and those after it, which share the rest of the budget.
  Status RaceTask(int task, int races_left);
  /// Reports the result of the last race for a task without a race in this run; that result is
  /// served.
  static void ReportEarlierRace(TaskState& state);
  /// For a task with unverified trials: selects the fastest config with a correct result as the
  /// best.
  Status VerifyFastest(TaskState& state);
  /// Verifies the rest of a task's front, and the replacements of configs with wrong results.
  /// verified: the fastest, which has been verified.
  Status VerifyFront(TaskState& state, Point verified, std::int64_t attempt);
  /// Returns the attempt number of a task's next race, after all those in the store, because trials
  /// of an interrupted race keep their ids.
  Result<std::int64_t> NextAttempt(const TaskState& state) const;
  /// Stores the best of a task with its log entry, and reports it.
  Status StoreWinner(TaskState& state, const BestEntry& best, const Trial& trial);
  /// Returns the seconds of the limit for each remaining race.
  double RaceShare(int races_left) const;
  /// Returns the fastest trials, noisy ones that may be as fast, and the default config, as many as
  /// the remaining time allows; none if it does not allow two.
  std::vector<Observation> Finalists(const TaskState& state, double seconds_left) const;
  measure::RaceSettings RaceSettingsOf(const TaskState& state,
                                       const std::vector<Observation>& finalists,
                                       int races_left) const;
  /// Returns the result of a race. winner: position of the winner, if any finalist may win.
  BestEntry WinnerOf(const TaskState& state, const std::vector<Observation>& finalists,
                     const std::vector<Trial>& raced, std::optional<std::size_t>& winner) const;
  /// Returns how many of a task's fastest are kept for its race, which soon drops the slower ones.
  std::size_t KeptFastest() const { return 2 * static_cast<std::size_t>(settings_.finalists); }

  BatchState* FindBatch(std::int64_t number);
  TaskState& TaskAt(int task) { return *tasks_[static_cast<std::size_t>(task)]; }

  JobSettings settings_;
  const TuneContext& context_;
  std::vector<std::unique_ptr<TaskState>> tasks_;
  std::unique_ptr<TaskScheduler> scheduler_;
  std::unique_ptr<WarmPool> pool_;
  records::Job job_;
  bool counts_ = false;  // the target counts instead of measuring time (IsSimulated)

  // The pipeline.
  std::deque<BatchState> batches_;  // not observed yet, in order of their numbers
  std::int64_t next_batch_ = 0;
  std::deque<std::int64_t> to_submit_;                  // numbers of batches
  std::map<std::uint64_t, BatchSlot> in_flight_slots_;  // submitted and not durable
  std::uint64_t next_ticket_ = 1;
  std::optional<AskEntry> planned_;   // the ask in progress
  double blocked_since_ = -1;         // since the pipeline ran dry behind a slow trial
  std::int64_t proposed_trials_ = 0;  // of all runs

  // Bookkeeping.
  std::int64_t trials_ = 0, trials_this_run_ = 0;
  double start_seconds_ = 0;     // of this run
  double search_seconds_ = 0;    // wall time of Search in this run
  double race_seconds_ = 0;      // of the races in this run
  double earlier_seconds_ = 0;   // wall time of earlier runs
  double deadline_seconds_ = 0;  // from the start of this run; 0: none
  measure::TimeSplit before_;    // the measurer's at the start of Search
  measure::TimeSplit split_;     // of this run's Search
  double logged_wall_ = 0;       // of this run at its last log of the time
  bool interrupted_ = false;
  bool log_diverged_ = false;
  std::optional<double> dropped_at_;  // waiting trials when the time was up

  std::mutex proposal_mutex_;
  std::optional<Proposal> proposal_;  // guarded by proposal_mutex_
  std::atomic<double> model_seconds_{0};
  // Last, so that they end first: their threads use the members above.
  std::unique_ptr<Writer> writer_;
  WorkerThread training_thread_;
  WorkerThread strategy_thread_;
};

}  // namespace tilewright::search
