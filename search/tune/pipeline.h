#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/measurer.h"
#include "search/job_log.h"
#include "search/task_scheduler.h"
#include "search/tune/budget.h"
#include "search/tune/journal.h"
#include "search/tune/proposer.h"
#include "search/tune/tune_job.h"

namespace tilewright::search {

/// Search of a job: batches of points travel from the strategies through the measurer to the
/// journal and back to the strategies. See pipeline.cc for the order of events. Used by the thread
/// of Tune only.
class Pipeline {
 public:
  /// All arguments outlive the pipeline.
  Pipeline(TuneJob& job, TaskScheduler& scheduler, Budget& budget, Journal& journal,
           TuneProposer& proposer)
      : job_(job), scheduler_(scheduler), budget_(budget), journal_(journal), proposer_(proposer) {}

  /// Restores strategies, scheduler, tasks and budget to the state after the last entry. Run
  /// measures the points without a result. logs: parallel to the job's tasks. Call before Run.
  /// Errors: kCorrupt if the log does not fit the spaces or strategies.
  Status Replay(const std::vector<TaskLog>& logs);
  /// Searches until a limit is reached, every task is retired, or stop is requested. Then all tasks
  /// are retired and everything is durable.
  /// Errors: those of strategies, measurer and store.
  Status Run();
  /// Returns whether stop was requested, after Run.
  bool interrupted() const { return interrupted_; }
  /// Number of proposed batches in all runs of the job.
  std::int64_t batches() const { return next_batch_; }

 private:
  /// Submitted point, found by its ticket.
  struct BatchSlot {
    std::int64_t batch = 0;
    std::size_t slot = 0;
    bool again = false;  ///< resubmitted once after a device loss
  };
  using TellEntries = std::map<std::pair<std::int64_t, std::int64_t>, const TellEntry*>;

  // pipeline_replay.cc
  Status ReplayAsk(int task, const AskEntry& ask, const TellEntries& tells);
  Status ReplayResults(const TellEntries& tells, BatchState& batch);

  /// Counts the racers that the final races would have now, for the budget.
  void CountRacers(int task);
  std::int64_t Lookahead() const;
  bool MayPlan();
  Status Plan();
  /// Creates the strategy of a task that gets its first batch.
  Status BeginTask(int task);
  int BatchSize() const;
  /// Reports the results of a complete batch to scheduler and task, and removes it.
  void TellBatch(const BatchState& batch);
  std::vector<std::int64_t> TellFinishedBatches(std::int64_t upto);
  void Retire(int task, std::string reason);
  void RetireStaleTasks();
  Status TakeProposal();
  void AddBatch(BatchState batch);
  /// Submits the points of the batch that have no result, within the limit of trials.
  Status Submit(const BatchState& batch);
  Status SubmitPoint(const BatchState& batch, BatchSlot place);
  Status SubmitNew();
  /// Cancels requests that the measurer does not run yet. A resumed job measures them again.
  void CancelPending();
  /// Stores the trial of a lost device, and submits the point once more.
  Status Resubmit(BatchSlot place, Trial lost);
  Status HandleReplies(double timeout_seconds);
  Status HandleReply(measure::Reply reply);
  /// Errors: kUnavailable, naming the device, for an ok trial without all metrics of the job: all
  /// work with a worker of an earlier version would be useless.
  Status CheckAllMetrics(const Trial& trial) const;
  void Store(std::uint64_t ticket, const BatchSlot& place, Trial trial);
  /// Stores a trial that revises an earlier one whose device had drifted.
  void StoreRevised(Trial trial);
  void Acknowledge(const Writer::Item& item);
  BatchState* FindBatch(std::int64_t number);

  TuneJob& job_;
  TaskScheduler& scheduler_;
  Budget& budget_;
  Journal& journal_;
  TuneProposer& proposer_;
  std::deque<BatchState> batches_;  // not yet observed by the strategies, by number
  std::int64_t next_batch_ = 0;
  std::deque<std::int64_t> to_submit_;                  // numbers of batches
  std::map<std::uint64_t, BatchSlot> in_flight_slots_;  // submitted and not durable yet
  std::uint64_t next_ticket_ = 1;
  std::vector<std::int64_t> racers_;   // per task
  std::optional<AskEntry> planned_;    // the proposal in progress
  double blocked_since_ = -1;          // since when the pipeline waits for one slow trial
  std::optional<double> canceled_at_;  // when pending points were canceled last
  bool interrupted_ = false;
};

}  // namespace tilewright::search
