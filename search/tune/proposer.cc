#include "search/tune/proposer.h"

#include <memory>
#include <utility>

#include "search/open/open_search_space.h"
#include "search/open/records_of_others.h"
#include "search/strategies/fronts.h"
#include "src/base/hash.h"

namespace tilewright::search {

Status TuneProposer::StartThreads() {
  TW_RETURN_IF_ERROR(strategy_thread_.StartThread(!job_.simulated));
  return training_thread_.StartThread(!job_.simulated);
}

BeginEntry TuneProposer::ChooseWarmStart(int task) const {
  return job_.settings.warm_start ? pool_.Choose(job_.tasks, task) : BeginEntry();
}

Status TuneProposer::MakeStrategy(int task, const BeginEntry& begin) {
  const JobSettings& settings = job_.settings;
  TaskState& state = job_.At(task);
  const StrategyEntry* entry = job_.context.strategies->Find(settings.strategy);
  if (entry == nullptr) return InvalidArgument("strategy: " + settings.strategy + ", unknown");
  StrategyContext made;
  made.space = &state.space;
  made.analyzer = state.analyzer.get();
  made.seed = settings.seed ^ Fnv1a64(state.key);
  made.epsilon = settings.epsilon;
  made.make_model = job_.context.make_model;
  made.warm = pool_.Collect(job_.tasks, begin);
  made.first = begin.first;
  // Records have the values of one metric.
  const OpenTask* open = OpenTaskOf(state.space);
  if (open != nullptr && settings.warm_start && settings.metric.empty()) {
    TW_RETURN_IF_ERROR(AddRecordsOfOthers(*job_.context.store, *open,
                                          job_.context.measurer->device(), made.records));
  }
  state.strategy =
      settings.metric.empty() ? entry->make(made) : MakeFrontSearch(*entry, made, settings.metric);
  return state.strategy->status();
}

void TuneProposer::Start(int task, int count, std::vector<Observation> results) {
  strategy_thread_.Post(
      [this, task, count, results = std::move(results)] { Propose(task, count, results); });
}

std::optional<Proposal> TuneProposer::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(proposal_, std::nullopt);
}

void TuneProposer::Propose(int task, int count, const std::vector<Observation>& results) {
  const double start = job_.context.clock->MonotonicSeconds();
  TaskState& state = job_.At(task);
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
  // Wait for the first model (of other tasks' trials): without it proposals would be random.
  if (!learning) TrainModel(state, first || !job_.context.threads);
  Proposal asked;
  asked.task = task;
  asked.points = strategy.Ask(count);
  asked.scores = strategy.Scores(asked.points);
  asked.strategy_state = strategy.SaveState();
  asked.filtered = strategy.filtered();
  asked.status = strategy.status();
  model_seconds_.fetch_add(job_.context.clock->MonotonicSeconds() - start);
  const std::lock_guard lock(mutex_);
  proposal_ = std::move(asked);
}

void TuneProposer::TrainModel(TaskState& state, bool wait) {
  std::unique_ptr<TrainingJob> training_job = state.strategy->NextTrainingJob();
  if (training_job == nullptr) return;
  if (wait) {
    // If training fails, the strategy keeps the model that it has.
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
    const double start = job_.context.clock->MonotonicSeconds();
    const bool ok = mine->Run().ok();
    model_seconds_.fetch_add(job_.context.clock->MonotonicSeconds() - start);
    const std::lock_guard lock(state.training_mutex);
    state.learning = false;
    if (ok) state.learned = std::move(mine);
  });
}

}  // namespace tilewright::search
