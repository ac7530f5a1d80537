// The pipeline: propose, build, run and learn, all at once.
//
//   thread of Tune     plans batches, feeds the measurer, takes its replies, counts durable trials
//   strategy thread    tells a strategy its results and asks it for the next batch (TuneProposer)
//   training thread    trains cost models (TuneProposer)
//   writer             makes trials and log entries durable, several per transaction (Journal)
//
// Batches are numbered over the whole job. A batch is planned when at most `lookahead` earlier ones
// are unfinished. When batch n is planned, the strategies have observed exactly the batches up to n
// - 1 - lookahead, in their order and their points in the proposed order, independent of later
// measurements. So the choice of task and points does not depend on the speed of single trials: a
// resumed job proposes the same points as an uninterrupted one. Two batches keep builders and
// runner busy. Only if the pipeline runs dry because of one slow trial is the next batch planned
// early; the log has an entry of that.
#include "search/tune/pipeline.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "search/tune/racer.h"
#include "src/base/math.h"
#include "src/base/printable.h"

namespace tilewright::search {
namespace {

constexpr double kPollSeconds = 0.02;        // longest wait for a reply before planning again
constexpr double kMinSamplingSeconds = 0.3;  // a dry pipeline waits for one slow trial
// Batches in flight if trials are counted: measuring one takes less time than writing it.
constexpr std::int64_t kCountedBatches = 4;
constexpr double kIdleSeconds = 0.002;
constexpr double kGlanceSeconds = 1e-4;
constexpr int kGlances = 4;

/// Keeps why a task has no result yet: a job whose command never answers says why at its end.
void NoteFailure(const Trial& trial, TaskReport& report) {
  constexpr std::size_t kShown = 160;
  if (report.best_seconds > 0) {
    report.no_result_reason.clear();
  } else if (trial.outcome != Outcome::kOk) {
    report.no_result_reason = "no trial gave a correct result, the last one was " +
                              std::string(OutcomeName(trial.outcome));
    const std::string reason = Printable(trial.reason.substr(0, kShown));
    if (!reason.empty()) report.no_result_reason += ": " + reason;
  }
}

}  // namespace

BatchState* Pipeline::FindBatch(std::int64_t number) {
  for (BatchState& batch : batches_) {
    if (batch.number == number) return &batch;
  }
  return nullptr;
}

void Pipeline::Retire(int task, std::string reason) {
  TaskState& state = job_.At(task);
  if (state.report.finished) return;
  scheduler_.Retire(task);
  state.report.finished = true;
  state.report.finish_reason = std::move(reason);
  job_.observer().TaskFinished(state.report, task);
}

void Pipeline::RetireStaleTasks() {
  for (int i = 0; i < static_cast<int>(job_.tasks.size()); ++i) {
    if (!scheduler_.retired(i) && scheduler_.Stale(i)) Retire(i, "no improvement");
  }
}

void Pipeline::TellBatch(const BatchState& batch) {
  TaskState& state = job_.At(batch.task);
  for (const auto& observed : batch.results) state.Tell(*observed);
  scheduler_.Observe(batch.task, std::ssize(batch.points), state.observed_best_seconds,
                     state.observed_product_share);
  const std::int64_t number = batch.number;
  std::erase_if(batches_, [number](const BatchState& other) { return other.number == number; });
}

std::vector<std::int64_t> Pipeline::TellFinishedBatches(std::int64_t upto) {
  std::vector<std::int64_t> observed;
  for (const BatchState& batch : batches_) {
    if (batch.number <= upto && batch.complete()) observed.push_back(batch.number);
  }
  for (std::int64_t number : observed) TellBatch(*FindBatch(number));
  return observed;
}

int Pipeline::BatchSize() const {
  std::int64_t size = job_.settings.batch;
  if (budget_.LimitSeconds() > 0 && scheduler_.unstarted() > 0) {
    // Trials may take seconds each: each task gets one trial before any task gets a second one.
    return 1;
  }
  if (job_.settings.trials > 0) {
    // With few trials, every task gets some, its default config first; half of them are left for
    // the tasks that have the most to gain.
    const std::int64_t left = budget_.proposals_left();
    const std::int64_t tasks = scheduler_.unstarted();
    const bool single = std::ssize(job_.tasks) == 1;
    size = std::min(size, tasks > 0 && !single ? left / (2 * tasks) : left);
  }
  return static_cast<int>(std::max<std::int64_t>(1, size));
}

void Pipeline::CountRacers(int task) {
  racers_.resize(job_.tasks.size());
  racers_[static_cast<std::size_t>(task)] = CountFinalists(job_.At(task), job_.settings);
  budget_.SetRacers(std::accumulate(racers_.begin(), racers_.end(), std::int64_t{0}));
}

std::int64_t Pipeline::Lookahead() const {
  const std::int64_t capacity = job_.context.measurer->capacity();
  // With a budget the first batches have one point each, see BatchSize.
  if (budget_.LimitSeconds() > 0 && next_batch_ < std::ssize(job_.tasks)) return capacity;
  const std::int64_t busy = CeilDiv(capacity, job_.settings.batch);
  return std::max<std::int64_t>(job_.simulated ? kCountedBatches : 1, busy);
}

bool Pipeline::MayPlan() {
  const double now = job_.context.clock->MonotonicSeconds();
  if (planned_ || !budget_.LimitReached().empty()) return false;
  const std::int64_t upto = next_batch_ - 1 - Lookahead();
  const bool finished = std::all_of(
      batches_.begin(), batches_.end(),
      [upto](const BatchState& batch) { return batch.number > upto || batch.complete(); });
  if (finished) {
    blocked_since_ = -1;
    return true;
  }
  measure::Measurer& measurer = *job_.context.measurer;
  if (!to_submit_.empty() || measurer.in_flight() * 2 > measurer.capacity()) {
    blocked_since_ = -1;
    return false;
  }
  if (blocked_since_ < 0) blocked_since_ = now;
  return now - blocked_since_ >= kMinSamplingSeconds;
}

Status Pipeline::Plan() {
  AskEntry entry;
  entry.batch = next_batch_;
  entry.observed = TellFinishedBatches(next_batch_ - 1 - Lookahead());
  RetireStaleTasks();
  const std::optional<int> task = scheduler_.Next();
  if (!task) return {};
  TaskState& state = job_.At(*task);
  if (state.strategy == nullptr) TW_RETURN_IF_ERROR(BeginTask(*task));
  entry.elapsed_seconds = budget_.ElapsedSeconds();
  planned_ = std::move(entry);
  proposer_.Start(*task, BatchSize(), std::exchange(state.pending_observations, {}));
  return {};
}

Status Pipeline::BeginTask(int task) {
  TaskState& state = job_.At(task);
  BeginEntry begin = proposer_.ChooseWarmStart(task);
  // The journal owns the store until everything is written.
  TW_RETURN_IF_ERROR(journal_.Flush());
  TW_ASSIGN_OR_RETURN(
      begin.first, StalePoints(*job_.context.store, state.space, job_.context.measurer->device()));
  if (!begin.first.empty()) {
    job_.observer().StaleFirst(state.report, task, std::ssize(begin.first));
  }
  TW_RETURN_IF_ERROR(proposer_.MakeStrategy(task, begin));
  journal_.Append(Encode(state.key, begin));
  return {};
}

Status Pipeline::TakeProposal() {
  std::optional<Proposal> proposal = proposer_.Take();
  if (!proposal) return {};
  TW_RETURN_IF_ERROR(proposal->status);
  TaskState& state = job_.At(proposal->task);
  state.report.filtered = proposal->filtered;
  AskEntry entry = std::move(*planned_);
  planned_.reset();
  entry.points = proposal->points;
  entry.scores = std::move(proposal->scores);
  entry.strategy_state = std::move(proposal->strategy_state);
  journal_.Append(Encode(state.key, entry));
  state.last_batch = entry.batch;
  next_batch_ = entry.batch + 1;
  if (entry.points.empty()) {
    Retire(proposal->task, "exhausted");
    return {};
  }
  BatchState batch;
  batch.number = entry.batch;
  batch.task = proposal->task;
  batch.points = std::move(entry.points);
  batch.scores = std::move(entry.scores);
  batch.results.resize(batch.points.size());
  to_submit_.push_back(batch.number);
  AddBatch(std::move(batch));
  return {};
}

void Pipeline::AddBatch(BatchState batch) {
  budget_.CountProposed(std::ssize(batch.points));
  scheduler_.Proposed(batch.task, std::ssize(batch.points));
  batches_.push_back(std::move(batch));
}

Status Pipeline::SubmitPoint(const BatchState& batch, BatchSlot place) {
  const TaskState& state = job_.At(batch.task);
  measure::Request request;
  request.ticket = next_ticket_++;
  request.candidate = ToCandidate(state.space, batch.points[place.slot]);
  request.best_seconds = state.report.best_seconds;
  request.unverified = state.defer_verification;
  in_flight_slots_[request.ticket] = place;
  return job_.context.measurer->Submit(std::move(request));
}

Status Pipeline::Submit(const BatchState& batch) {
  for (std::size_t slot = 0; slot < batch.points.size(); ++slot) {
    if (batch.results[slot]) continue;
    // A job that is resumed with a lower limit than before has more points than trials.
    if (budget_.TrialsSpent(std::ssize(in_flight_slots_))) return {};
    TW_RETURN_IF_ERROR(SubmitPoint(batch, {batch.number, slot}));
  }
  return {};
}

Status Pipeline::Resubmit(BatchSlot place, Trial lost) {
  lost.attempt = kDeviceLostAttempt;
  journal_.Append(std::move(lost));
  place.again = true;
  return SubmitPoint(*FindBatch(place.batch), place);
}

void Pipeline::CancelPending() {
  to_submit_.clear();
  measure::Measurer& measurer = *job_.context.measurer;
  if (measurer.in_flight() == 0) return;
  for (const std::uint64_t ticket : measurer.CancelPending()) in_flight_slots_.erase(ticket);
}

Status Pipeline::SubmitNew() {
  if (budget_.TimeSpent()) {
    // Repeated, because orders of devices that disappear become pending again.
    constexpr double kAgainSeconds = 1;
    const double now = job_.context.clock->MonotonicSeconds();
    if (!canceled_at_ || now - *canceled_at_ >= kAgainSeconds) {
      CancelPending();
      canceled_at_ = now;
    }
    to_submit_.clear();
    return {};
  }
  while (!to_submit_.empty()) {
    const std::int64_t number = to_submit_.front();
    to_submit_.pop_front();
    TW_RETURN_IF_ERROR(Submit(*FindBatch(number)));
  }
  return {};
}

Status Pipeline::CheckAllMetrics(const Trial& trial) const {
  if (trial.outcome != Outcome::kOk) return {};
  for (const std::string& metric : job_.settings.metric) {
    if (trial.ValueOf(metric)) continue;
    return Unavailable("device '" + trial.device.model + "': does not say " + metric +
                       "; its worker may be of an earlier version: update it, or leave it out");
  }
  return {};
}

void Pipeline::Acknowledge(const Writer::Item& item) {
  const auto place = in_flight_slots_.find(item.ticket);
  TW_CHECK(place != in_flight_slots_.end());
  BatchState& batch = *FindBatch(place->second.batch);
  TaskState& state = job_.At(batch.task);
  const Trial& trial = item.trials.front();
  const Observation observed = job_.ObservationOf(batch.points[place->second.slot], trial);
  job_.context.measurer->MarkStored(item.ticket);
  batch.results[place->second.slot] = observed;
  ++batch.done;
  in_flight_slots_.erase(place);
  budget_.CountTrial(/*this_run=*/true);
  state.Note(observed, trial.verified, job_.KeptFastest());
  NoteFailure(trial, state.report);
  CountRacers(batch.task);
  job_.observer().TrialDone(state.report, batch.task, trial,
                            budget_.EtaSeconds(scheduler_.TrialsUntilStale()));
}

// Query results follow from the store, and races take the fastest trials. The log keeps the result
// that the strategy observed.
void Pipeline::StoreRevised(Trial trial) {
  job_.DropUnrequestedMetrics(trial);
  trial.attempt = measure::kRevisedAttempt;
  for (const auto& state : job_.tasks) {
    if (trial.candidate.task.workload != state->input.task.workload ||
        trial.candidate.epilogue != state->input.epilogue) {
      continue;
    }
    const std::optional<Point> point = state->PointOf(trial.candidate);
    if (!point || !trial.verified) continue;
    // On the front it replaces the falsified one.
    std::erase_if(state->measured,
                  [&point](const Observation& observed) { return observed.point == *point; });
    state->Note(job_.ObservationOf(*point, trial), true, job_.KeptFastest());
    NoteFailure(trial, state->report);
    --state->report.trials;  // of the search's
  }
  journal_.Append(std::move(trial));
}

void Pipeline::Store(std::uint64_t ticket, const BatchSlot& place, Trial trial) {
  const BatchState& batch = *FindBatch(place.batch);
  TellEntry entry;
  entry.batch = batch.number;
  entry.slot = static_cast<std::int64_t>(place.slot);
  job_.DropUnrequestedMetrics(trial);
  entry.observed = job_.ObservationOf(batch.points[place.slot], trial);
  entry.verified = trial.verified;
  if (place.slot < batch.scores.size()) {
    trial.predicted = static_cast<double>(batch.scores[place.slot]);
  }
  journal_.Append(ticket, std::move(trial), Encode(job_.At(batch.task).key, entry));
}

Status Pipeline::HandleReply(measure::Reply reply) {
  const auto place = in_flight_slots_.find(reply.ticket);
  TW_CHECK(reply.again || place != in_flight_slots_.end(),
           "the measurer returned a ticket that was not submitted");
  TW_RETURN_IF_ERROR(CheckAllMetrics(reply.trial));
  if (reply.again) {
    StoreRevised(std::move(reply.trial));
  } else if (reply.trial.outcome == Outcome::kDeviceLost && !place->second.again &&
             !budget_.TimeSpent()) {
    const BatchSlot again = in_flight_slots_.extract(place).mapped();
    return Resubmit(again, std::move(reply.trial));
  } else {
    Store(place->first, place->second, std::move(reply.trial));
  }
  return {};
}

Status Pipeline::HandleReplies(double timeout_seconds) {
  measure::Measurer& measurer = *job_.context.measurer;
  std::optional<measure::Reply> reply;
  if (measurer.in_flight() > 0) {
    TW_ASSIGN_OR_RETURN(reply, measurer.Next(timeout_seconds));
  }
  while (reply) {
    TW_RETURN_IF_ERROR(HandleReply(*std::move(reply)));
    if (!job_.context.threads || measurer.in_flight() == 0) break;
    TW_ASSIGN_OR_RETURN(reply, measurer.Next(0));
  }
  TW_ASSIGN_OR_RETURN(std::vector<Writer::Item> durable, journal_.Collect());
  for (const Writer::Item& item : durable) Acknowledge(item);
  return {};
}

Status Pipeline::Run() {
  const TuneContext& context = job_.context;
  if (context.threads) {
    TW_RETURN_IF_ERROR(proposer_.StartThreads());
    TW_RETURN_IF_ERROR(journal_.StartThread());
  }
  for (int i = 0; i < static_cast<int>(job_.tasks.size()); ++i) CountRacers(i);
  journal_.BeginSearch();
  while (!job_.StopRequested()) {
    journal_.NoteTime(proposer_.model_seconds());
    const bool plans = MayPlan();
    if (plans) TW_RETURN_IF_ERROR(Plan());
    TW_RETURN_IF_ERROR(TakeProposal());
    // A strategy that only draws points is done at once: take its proposal before the next reply.
    for (int i = 0; i < kGlances && plans && planned_ && context.threads; ++i) {
      context.clock->SleepSeconds(kGlanceSeconds);
      TW_RETURN_IF_ERROR(TakeProposal());
    }
    TW_RETURN_IF_ERROR(SubmitNew());
    if (in_flight_slots_.empty() && !planned_) {
      if (!budget_.LimitReached().empty()) break;
      RetireStaleTasks();
      if (!scheduler_.Next()) break;
    }
    // With nothing in flight only the strategy and the writer can make progress.
    if (context.measurer->in_flight() == 0 && context.threads) {
      context.clock->SleepSeconds(kIdleSeconds);
    }
    TW_RETURN_IF_ERROR(HandleReplies(planned_ ? kPollSeconds / 4 : kPollSeconds));
  }
  interrupted_ = job_.StopRequested();
  const std::string reason = interrupted_ ? "stopped" : budget_.LimitReached();
  journal_.EndSearch(proposer_.model_seconds());
  for (int i = 0; i < static_cast<int>(job_.tasks.size()); ++i) {
    Retire(i, reason.empty() ? "no improvement" : reason);
  }
  return journal_.Flush();
}

}  // namespace tilewright::search
