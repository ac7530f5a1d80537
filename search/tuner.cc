// The pipeline: propose, build, run and learn, all at once.
//
//   thread of Tune   plans batches, feeds the measurer, takes its replies, counts what is durable
//   thinker          tells a strategy its results and asks it for the next batch
//   learner          trains cost models; proposals go on with the last one meanwhile
//   writer           makes trials and log entries durable, several per transaction
//
// Batches are numbered over the whole job. A batch is planned when at most `lookahead` earlier ones
// are unfinished, and on planning batch n exactly the batches up to n - 1 - lookahead are told (in
// their order, points in the order asked), whatever else has come back by then: so which task gets
// the batch and what it is asked do not depend on how fast single trials were, a resumed job
// proposes what the uninterrupted one would have, and two batches keep builders and runner busy.
// Only when the pipeline runs dry behind one slow trial is the next batch planned early; the log
// says so.
#include "search/tuner.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "search/legality.h"
#include "search/tuner_impl.h"
#include "src/base/math.h"
#include "src/templates/device.h"

namespace tilewright::search {
namespace {

constexpr double kPollSeconds = 0.02;        // longest wait for a reply before looking around
constexpr double kMinSamplingSeconds = 0.3;  // a dry pipeline waits for one slow trial
// Where trials are counted a batch is measured sooner than it is written: so many are under way.
constexpr std::int64_t kCountedBatches = 4;
constexpr double kIdleSeconds = 0.002;
constexpr double kGlanceSeconds = 1e-4;
constexpr int kGlances = 4;

}  // namespace

BatchState* TuneRun::FindBatch(std::int64_t number) {
  for (BatchState& batch : batches_) {
    if (batch.number == number) return &batch;
  }
  return nullptr;
}

double TuneRun::Elapsed() const {
  return earlier_seconds_ + context_.clock->MonotonicSeconds() - start_seconds_;
}

double TuneRun::EtaSeconds() const {
  double eta = 0;
  if (LimitSeconds() > 0) {
    eta = std::max(0.0, LimitSeconds() - RaceReserve() - Elapsed());
  }
  if (settings_.trials > 0 && trials_this_run_ > 0) {
    const double per_trial = (context_.clock->MonotonicSeconds() - start_seconds_) /
                             static_cast<double>(trials_this_run_);
    const double left =
        per_trial * static_cast<double>(std::max<std::int64_t>(0, settings_.trials - trials_));
    eta = eta > 0 ? std::min(eta, left) : left;
  }
  return eta;
}

std::string TuneRun::LimitReached() const {
  if (settings_.trials > 0 && proposed_trials_ >= settings_.trials) return "trials";
  if (!BudgetSpent()) return "";
  return LimitSeconds() == settings_.budget_seconds ? "budget" : "deadline";
}

bool TuneRun::BudgetSpent() const {
  return LimitSeconds() > 0 && Elapsed() >= LimitSeconds() - RaceReserve();
}

void TuneRun::CancelPending() {
  to_submit_.clear();
  if (context_.measurer->in_flight() == 0) return;
  for (const std::uint64_t ticket : context_.measurer->CancelPending())
    in_flight_slots_.erase(ticket);
}

void TuneRun::Retire(int task, std::string reason) {
  TaskState& state = TaskAt(task);
  if (state.report.finished) return;
  scheduler_->Retire(task);
  state.report.finished = true;
  state.report.finish_reason = std::move(reason);
  if (context_.observer != nullptr) context_.observer->TaskFinished(state.report, task);
}

void TuneRun::TellBatch(const BatchState& batch) {
  TaskState& state = TaskAt(batch.task);
  for (const auto& observed : batch.results) state.Tell(*observed);
  scheduler_->Observe(batch.task, std::ssize(batch.points), state.observed_best_seconds,
                      state.observed_product_share);
  const std::int64_t number = batch.number;
  std::erase_if(batches_, [number](const BatchState& other) { return other.number == number; });
}

std::vector<std::int64_t> TuneRun::TellFinishedBatches(std::int64_t upto) {
  std::vector<std::int64_t> observed;
  for (const BatchState& batch : batches_) {
    if (batch.number <= upto && batch.complete()) observed.push_back(batch.number);
  }
  for (std::int64_t number : observed) TellBatch(*FindBatch(number));
  return observed;
}

void TuneRun::RetireStaleTasks() {
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    if (!scheduler_->retired(i) && scheduler_->Stale(i)) Retire(i, "no improvement");
  }
}

int TuneRun::BatchSize() const {
  std::int64_t size = settings_.batch;
  if (LimitSeconds() > 0 && scheduler_->unstarted() > 0) {
    // Trials may take seconds each: no task gets a second one before all have had their first.
    return 1;
  }
  if (settings_.trials > 0) {
    // When trials are few, every task is to get some: its default config comes first.
    const std::int64_t left = settings_.trials - proposed_trials_;
    const std::int64_t tasks = scheduler_->unstarted();
    size = std::min(size, tasks > 0 ? CeilDiv(left, tasks) : left);
  }
  return static_cast<int>(std::max<std::int64_t>(1, size));
}

std::int64_t TuneRun::Lookahead() const {
  // With a budget the first batches have one point each, see BatchSize.
  if (LimitSeconds() > 0 && next_batch_ < std::ssize(tasks_)) {
    return context_.measurer->capacity();
  }
  const std::int64_t busy = CeilDiv(context_.measurer->capacity(), settings_.batch);
  return std::max<std::int64_t>(counts_ ? kCountedBatches : 1, busy);
}

bool TuneRun::MayPlan(double now) {
  if (planned_ || !LimitReached().empty()) return false;
  const std::int64_t upto = next_batch_ - 1 - Lookahead();
  const bool finished = std::all_of(
      batches_.begin(), batches_.end(),
      [upto](const BatchState& batch) { return batch.number > upto || batch.complete(); });
  if (finished) {
    blocked_since_ = -1;
    return true;
  }
  if (!to_submit_.empty() || context_.measurer->in_flight() * 2 > context_.measurer->capacity()) {
    blocked_since_ = -1;
    return false;
  }
  if (blocked_since_ < 0) blocked_since_ = now;
  return now - blocked_since_ >= kMinSamplingSeconds;
}

Status TuneRun::Plan() {
  AskEntry entry;
  entry.batch = next_batch_;
  entry.observed = TellFinishedBatches(next_batch_ - 1 - Lookahead());
  RetireStaleTasks();
  const std::optional<int> task = scheduler_->Next();
  if (!task) return {};
  TaskState& state = TaskAt(*task);
  if (state.strategy == nullptr) {
    BeginEntry begin;
    if (settings_.warm_start) begin = pool_->Choose(tasks_, *task);
    // The store is the writer's while that has something to write.
    TW_RETURN_IF_ERROR(writer_->Flush());
    TW_ASSIGN_OR_RETURN(begin.first,
                        StalePoints(*context_.store, state.space, context_.measurer->device()));
    if (!begin.first.empty() && context_.observer != nullptr) {
      context_.observer->StaleFirst(state.report, *task, std::ssize(begin.first));
    }
    TW_RETURN_IF_ERROR(MakeStrategy(*task, begin));
    Writer::Item item;
    item.log.push_back(Encode(state.key, begin));
    writer_->Push(std::move(item));
  }
  entry.elapsed_seconds = Elapsed();
  planned_ = std::move(entry);
  strategy_thread_.Post([this, which = *task, count = BatchSize(),
                         results = std::exchange(state.pending_observations, {})]() mutable {
    RunStrategy(which, count, std::move(results));
  });
  return {};
}

void TuneRun::RunStrategy(int task, int count, std::vector<Observation> results) {
  const double start = context_.clock->MonotonicSeconds();
  TaskState& state = TaskAt(task);
  Strategy& strategy = *state.strategy;
  std::unique_ptr<TrainingJob> learned;
  bool learning = false;
  {
    const std::lock_guard lock(state.training_mutex);
    learned = std::move(state.learned);
    learning = state.learning;
  }
  if (learned != nullptr) strategy.Finish(std::move(learned));
  const bool first = state.last_batch < 0;
  strategy.Tell(results);
  // The first model (of other tasks' trials) is waited for: without it proposals would be random.
  if (!learning) TrainModel(task, first || !context_.threads);
  Proposal asked;
  asked.task = task;
  asked.points = strategy.Ask(count);
  asked.scores = strategy.Scores(asked.points);
  asked.strategy_state = strategy.SaveState();
  asked.filtered = strategy.filtered();
  asked.status = strategy.status();
  model_seconds_.fetch_add(context_.clock->MonotonicSeconds() - start);
  const std::lock_guard lock(proposal_mutex_);
  proposal_ = std::move(asked);
}

void TuneRun::TrainModel(int task, bool wait) {
  TaskState& state = TaskAt(task);
  std::unique_ptr<TrainingJob> training_job = state.strategy->NextTrainingJob();
  if (training_job == nullptr) return;
  if (wait) {
    // A lesson that fails leaves the strategy with the model it has.
    if (training_job->Run().ok()) state.strategy->Finish(std::move(training_job));
    return;
  }
  {
    const std::lock_guard lock(state.training_mutex);
    state.learning = true;
    state.training_job = std::move(training_job);
  }
  training_thread_.Post([this, &state] {
    std::unique_ptr<TrainingJob> mine;
    {
      const std::lock_guard lock(state.training_mutex);
      mine = std::move(state.training_job);
    }
    const double start = context_.clock->MonotonicSeconds();
    const bool ok = mine->Run().ok();
    model_seconds_.fetch_add(context_.clock->MonotonicSeconds() - start);
    const std::lock_guard lock(state.training_mutex);
    state.learning = false;
    if (ok) state.learned = std::move(mine);
  });
}

Status TuneRun::TakeProposal() {
  std::optional<Proposal> asked;
  {
    const std::lock_guard lock(proposal_mutex_);
    asked = std::exchange(proposal_, std::nullopt);
  }
  if (!asked) return {};
  TW_RETURN_IF_ERROR(asked->status);
  TaskState& state = TaskAt(asked->task);
  state.report.filtered = asked->filtered;
  AskEntry entry = std::move(*planned_);
  planned_.reset();
  entry.points = asked->points;
  entry.scores = std::move(asked->scores);
  entry.strategy_state = std::move(asked->strategy_state);
  Writer::Item item;
  item.log.push_back(Encode(state.key, entry));
  writer_->Push(std::move(item));
  state.last_batch = entry.batch;
  next_batch_ = entry.batch + 1;
  if (entry.points.empty()) {
    Retire(asked->task, "exhausted");
    return {};
  }
  BatchState batch;
  batch.number = entry.batch;
  batch.task = asked->task;
  batch.points = std::move(entry.points);
  batch.scores = std::move(entry.scores);
  batch.results.resize(batch.points.size());
  proposed_trials_ += std::ssize(batch.points);
  scheduler_->Proposed(asked->task, std::ssize(batch.points));
  to_submit_.push_back(batch.number);
  batches_.push_back(std::move(batch));
  return {};
}

Status TuneRun::SubmitPoint(const BatchState& batch, BatchSlot place) {
  const TaskState& state = TaskAt(batch.task);
  measure::Request request;
  request.ticket = next_ticket_++;
  request.candidate = ToCandidate(state.space, batch.points[place.slot]);
  request.best_seconds = state.report.best_seconds;
  request.unverified = state.defer_verification;
  in_flight_slots_[request.ticket] = place;
  return context_.measurer->Submit(std::move(request));
}

bool TuneRun::TrialsSpent() const {
  return settings_.trials > 0 && trials_ + std::ssize(in_flight_slots_) >= settings_.trials;
}

Status TuneRun::Submit(const BatchState& batch) {
  for (std::size_t slot = 0; slot < batch.points.size(); ++slot) {
    if (batch.results[slot]) continue;
    // A job that goes on under a lower limit than it was begun with has more points than trials.
    if (TrialsSpent()) return {};
    TW_RETURN_IF_ERROR(SubmitPoint(batch, {batch.number, slot}));
  }
  return {};
}

Status TuneRun::Resubmit(BatchSlot place, Trial lost) {
  lost.attempt = kDeviceLostAttempt;
  // No entry of the log: a job that is killed now asks for the point when it is resumed.
  Writer::Item item;
  item.trials.push_back(std::move(lost));
  writer_->Push(std::move(item));
  place.again = true;
  return SubmitPoint(*FindBatch(place.batch), place);
}

Status TuneRun::SubmitNew() {
  if (BudgetSpent()) {
    // Again, where devices have gone since: what they had waits again.
    constexpr double kAgainSeconds = 1;
    const double now = context_.clock->MonotonicSeconds();
    if (!dropped_at_ || now - *dropped_at_ >= kAgainSeconds) {
      CancelPending();
      dropped_at_ = now;
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

void TuneRun::DropUnrequestedMetrics(Trial& trial) const {
  std::erase_if(trial.others, [this](const auto& other) {
    return std::ranges::find(settings_.metric, other.first) == settings_.metric.end();
  });
}

Status TuneRun::CheckAllMetrics(const Trial& trial) const {
  if (trial.outcome != Outcome::kOk) return {};
  for (const std::string& metric : settings_.metric) {
    if (trial.ValueOf(metric)) continue;
    return Unavailable("device '" + trial.device.model + "': does not say " + metric +
                       "; its worker may be of an earlier version: update it, or leave it out");
  }
  return {};
}

Observation TuneRun::ObservationOf(Point point, const Trial& trial) const {
  Observation observed{point, trial.outcome, trial.value, trial.noisy()};
  if (trial.outcome != Outcome::kOk) return observed;
  for (const std::string& metric : settings_.metric) {
    const std::optional<double> value = trial.ValueOf(metric);
    if (!value || *value <= 0) {
      observed.values.clear();
      break;
    }
    observed.values.push_back(*value);
  }
  return observed;
}

void TuneRun::Acknowledge(const Writer::Item& item) {
  const auto place = in_flight_slots_.find(item.ticket);
  TW_CHECK(place != in_flight_slots_.end());
  BatchState& batch = *FindBatch(place->second.batch);
  TaskState& state = TaskAt(batch.task);
  const Trial& trial = item.trials.front();
  const Observation observed = ObservationOf(batch.points[place->second.slot], trial);
  context_.measurer->MarkStored(item.ticket);
  batch.results[place->second.slot] = observed;
  ++batch.done;
  in_flight_slots_.erase(place);
  ++trials_;
  ++trials_this_run_;
  state.Note(observed, trial.verified, KeptFastest());
  if (context_.observer != nullptr) {
    context_.observer->TrialDone(state.report, batch.task, trial, EtaSeconds());
  }
}

/// What is served follows from the store, and races take the fastest; what a strategy was told
/// stays in the log as it was.
void TuneRun::StoreRevised(Trial trial) {
  DropUnrequestedMetrics(trial);
  trial.attempt = measure::kRevisedAttempt;
  for (const auto& state : tasks_) {
    if (trial.candidate.task.workload != state->input.task.workload ||
        trial.candidate.epilogue != state->input.epilogue) {
      continue;
    }
    const std::optional<Point> point = state->PointOf(trial.candidate);
    if (!point || !trial.verified) continue;
    // On the front it takes the spoilt one's place.
    std::erase_if(state->measured,
                  [&point](const Observation& observed) { return observed.point == *point; });
    state->Note(ObservationOf(*point, trial), true, KeptFastest());
    --state->report.trials;  // of the search's
  }
  Writer::Item item;
  item.trials.push_back(std::move(trial));
  writer_->Push(std::move(item));
}

void TuneRun::Store(std::uint64_t ticket, const BatchSlot& place, Trial trial) {
  const BatchState& batch = *FindBatch(place.batch);
  TellEntry entry;
  entry.batch = batch.number;
  entry.slot = static_cast<std::int64_t>(place.slot);
  DropUnrequestedMetrics(trial);
  entry.observed = ObservationOf(batch.points[place.slot], trial);
  entry.verified = trial.verified;
  if (place.slot < batch.scores.size()) {
    trial.predicted = static_cast<double>(batch.scores[place.slot]);
  }
  Writer::Item item;
  item.ticket = ticket;
  item.log.push_back(Encode(TaskAt(batch.task).key, entry));
  item.trials.push_back(std::move(trial));
  writer_->Push(std::move(item));
}

Status TuneRun::HandleReplies(double timeout_seconds) {
  Result<std::optional<measure::Reply>> reply = std::optional<measure::Reply>();
  if (context_.measurer->in_flight() > 0) reply = context_.measurer->Next(timeout_seconds);
  TW_RETURN_IF_ERROR(reply);
  while (reply->has_value()) {
    const auto place = in_flight_slots_.find((*reply)->ticket);
    const bool revised = (*reply)->again;
    TW_CHECK(revised || place != in_flight_slots_.end(),
             "the measurer returned a ticket that was not submitted");
    Trial& trial = (*reply)->trial;
    TW_RETURN_IF_ERROR(CheckAllMetrics(trial));
    if (revised) {
      StoreRevised(std::move(trial));
    } else if (trial.outcome == Outcome::kDeviceLost && !place->second.again && !BudgetSpent()) {
      const BatchSlot again = in_flight_slots_.extract(place).mapped();
      TW_RETURN_IF_ERROR(Resubmit(again, std::move(trial)));
    } else {
      Store(place->first, place->second, std::move(trial));
    }
    if (!context_.threads || context_.measurer->in_flight() == 0) break;
    reply = context_.measurer->Next(0);
    TW_RETURN_IF_ERROR(reply);
  }
  TW_ASSIGN_OR_RETURN(std::vector<Writer::Item> durable, writer_->Collect());
  for (const Writer::Item& item : durable) Acknowledge(item);
  return {};
}

Status TuneRun::Search() {
  if (context_.threads) {
    TW_RETURN_IF_ERROR(strategy_thread_.StartThread(!counts_));
    TW_RETURN_IF_ERROR(training_thread_.StartThread(!counts_));
    TW_RETURN_IF_ERROR(writer_->StartThread());
  }
  before_ = context_.measurer->time_split();
  LogRunStart();
  while (!StopRequested()) {
    LogTime(false);
    const double now = context_.clock->MonotonicSeconds();
    const bool plans = MayPlan(now);
    if (plans) TW_RETURN_IF_ERROR(Plan());
    TW_RETURN_IF_ERROR(TakeProposal());
    // A strategy that only draws is done at once: no reply need come before it is looked at again.
    for (int i = 0; i < kGlances && plans && planned_ && context_.threads; ++i) {
      context_.clock->SleepSeconds(kGlanceSeconds);
      TW_RETURN_IF_ERROR(TakeProposal());
    }
    TW_RETURN_IF_ERROR(SubmitNew());
    if (in_flight_slots_.empty() && !planned_) {
      if (!LimitReached().empty()) break;
      RetireStaleTasks();
      if (!scheduler_->Next()) break;
    }
    // With nothing in flight there is nothing to wait for but the thinker or the writer.
    if (context_.measurer->in_flight() == 0 && context_.threads) {
      context_.clock->SleepSeconds(kIdleSeconds);
    }
    TW_RETURN_IF_ERROR(HandleReplies(planned_ ? kPollSeconds / 4 : kPollSeconds));
  }
  interrupted_ = StopRequested();
  const std::string reason = interrupted_ ? "stopped" : LimitReached();
  search_seconds_ = context_.clock->MonotonicSeconds() - start_seconds_;
  split_ = SplitNow();
  LogTime(true);
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    Retire(i, reason.empty() ? "no improvement" : reason);
  }
  return writer_->Flush();
}

Status TuneRun::CheckAnyTrial() const {
  if (trials_ > 0 || interrupted_ || !LimitReached().empty()) return {};
  std::string message;
  for (const auto& task : tasks_) {
    const Legality legality = CheckConfigs(task->space);
    if (legality.none_legal()) {
      message += (message.empty() ? "" : "; ") + task->key + ": " + legality.Text();
    }
  }
  return message.empty() ? Status() : InvalidArgument("nothing can be measured: " + message);
}

TuneReport TuneRun::Report() {
  TuneReport report;
  if (!tasks_.empty()) report.metric = MetricOf(tasks_.front()->input.task.target);
  report.metrics = settings_.metric;
  for (const auto& task : tasks_) {
    report.tasks.push_back(task->report);
    for (const Observation& observed : task->VerifiedFront()) {
      const auto which = static_cast<std::size_t>(observed.point.space);
      report.tasks.back().front.push_back(
          {observed.values, std::string(task->space.templates[which]->key), observed.point.index});
    }
  }
  report.trials = trials_;
  report.trials_this_run = trials_this_run_;
  report.wall_seconds = context_.clock->MonotonicSeconds() - start_seconds_;
  if (search_seconds_ > 0) {
    report.trials_per_second = static_cast<double>(trials_this_run_) / search_seconds_;
  }
  report.split = split_;
  report.model_seconds = model_seconds_;
  report.resolution = context_.measurer->resolution();
  report.interrupted = interrupted_;
  return report;
}

namespace {

/// Errors: kInvalidArgument for metrics of which the target does not say all; kUnsupported for
/// joules where the measurer does not count them.
Status CheckMetrics(const JobSettings& settings, const Target& target,
                    const measure::Measurer& measurer) {
  const std::vector<std::string>& asked = settings.metric;
  if (asked.empty()) return {};
  const std::vector<std::string> known = MetricsOf(target);
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ",") + one;
  const std::string expected = ", expected " + (known.size() > 1 ? list : "none but " + list) +
                               " for the target '" + target.ToString() + "'";
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const bool twice = std::find(asked.begin(), asked.begin() + i, asked[i]) != asked.begin() + i;
    const bool there = std::ranges::find(known, asked[i]) != known.end();
    if (twice || !there || (i == 0 && asked[i] != known[0])) {
      return InvalidArgument("metric: " + asked[i] + (twice ? " twice" : "") + expected);
    }
  }
  if (asked.size() == 1)
    return InvalidArgument("metric: " + asked[0] + " alone is no front" + expected);
  const bool joules = std::ranges::find(asked, kJoules) != asked.end();
  if (joules && !measurer.measures_energy()) {
    return Unsupported(
        "metric: joules: energy is counted on this machine only, not by boards or fleets");
  }
  if (settings.finalists == 0 && IsSimulated(target)) {
    return InvalidArgument(
        "finalists: 0, expected at least 1: what several metrics choose is "
        "verified at the end");
  }
  return {};
}

}  // namespace

Result<TuneReport> Tune(const std::vector<TuneTask>& tasks, const JobSettings& settings,
                        const TuneContext& context) {
  if (tasks.empty()) return InvalidArgument("nothing to tune: no task");
  if (settings.batch < 1) {
    return InvalidArgument("batch: " + std::to_string(settings.batch) + ", expected at least 1");
  }
  for (const TuneTask& task : tasks) {
    TW_RETURN_IF_ERROR(CheckMetrics(settings, task.task.target, *context.measurer));
  }
  constexpr int kMaxLogs = 100;  // one more with each change of the program; somebody has time
  auto run = std::make_unique<TuneRun>(settings, context);
  Status opened = run->Open(tasks, 0);
  for (int life = 1; run->log_diverged() && life < kMaxLogs; ++life) {
    if (context.observer != nullptr) context.observer->LogDiscarded(opened.message());
    run = std::make_unique<TuneRun>(settings, context);
    opened = run->Open(tasks, life);
  }
  TW_RETURN_IF_ERROR(opened);
  TW_RETURN_IF_ERROR(run->Search());
  TW_RETURN_IF_ERROR(run->CheckAnyTrial());
  if (run->interrupted()) {
    run->ReportEarlierRaces();
  } else {
    TW_RETURN_IF_ERROR(run->Race());
  }
  return run->Report();
}

}  // namespace tilewright::search
