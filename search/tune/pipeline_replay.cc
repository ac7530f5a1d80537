// Replay of the search log. The log contains every proposed batch and every durable result.
// Replaying it in the order of the batches restores strategies, scheduler and reports to their
// state after the last proposal. The pipeline submits points without a result again.
#include <utility>

#include "search/tune/pipeline.h"

namespace tilewright::search {
namespace {

Status CheckInSpace(const TaskState& state, std::int64_t batch, Point point) {
  if (point.space >= 0 && point.space < std::ssize(state.space.spaces) && point.index >= 0 &&
      point.index < state.space.spaces[static_cast<std::size_t>(point.space)].size()) {
    return {};
  }
  return Corrupt("search log: batch " + std::to_string(batch) + ": a point outside the space of " +
                 state.key);
}

}  // namespace

Status Pipeline::Replay(const std::vector<TaskLog>& logs) {
  std::map<std::int64_t, std::pair<int, const AskEntry*>> asks;
  TellEntries tells;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    for (const AskEntry& ask : logs[i].asks) asks[ask.batch] = {static_cast<int>(i), &ask};
    for (const TellEntry& tell : logs[i].tells) tells[{tell.batch, tell.slot}] = &tell;
  }
  for (const auto& [number, ask] : asks) {
    const auto& [task, entry] = ask;
    if (number != next_batch_) {
      return Corrupt("search log: batch " + std::to_string(number) + ", expected batch " +
                     std::to_string(next_batch_));
    }
    TaskState& state = job_.At(task);
    for (std::int64_t observed : entry->observed) {
      const BatchState* batch = FindBatch(observed);
      if (batch == nullptr || !batch->complete()) {
        return Corrupt("search log: batch " + std::to_string(number) +
                       " was proposed after batch " + std::to_string(observed) +
                       ", whose results are missing");
      }
      TellBatch(*batch);
    }
    RetireStaleTasks();
    if (state.strategy == nullptr) {
      const BeginEntry begin = logs[static_cast<std::size_t>(task)].begin.value_or(BeginEntry());
      for (Point point : begin.first) TW_RETURN_IF_ERROR(CheckInSpace(state, entry->batch, point));
      TW_RETURN_IF_ERROR(proposer_.MakeStrategy(task, begin));
    }
    TW_RETURN_IF_ERROR(ReplayAsk(task, *entry, tells));
  }
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (logs[i].best) {
      TW_RETURN_IF_ERROR(CheckInSpace(*job_.tasks[i], logs[i].best->batches, logs[i].best->winner));
    }
    job_.tasks[i]->raced = logs[i].best;
    if (logs[i].best) job_.tasks[i]->last_attempt = logs[i].best->attempt;
  }
  for (const BatchState& batch : batches_) {
    if (!batch.complete()) to_submit_.push_back(batch.number);
  }
  return {};
}

Status Pipeline::ReplayAsk(int task, const AskEntry& ask, const TellEntries& tells) {
  TaskState& state = job_.At(task);
  for (Point point : ask.points) TW_RETURN_IF_ERROR(CheckInSpace(state, ask.batch, point));
  state.strategy->Tell(std::exchange(state.pending_observations, {}));
  TW_RETURN_IF_ERROR(state.strategy->ReplayAsk(ask.points, ask.strategy_state));
  state.report.filtered = state.strategy->filtered();
  budget_.AddEarlierRun(ask.elapsed_seconds);
  next_batch_ = ask.batch + 1;
  state.last_batch = ask.batch;
  if (ask.points.empty()) {
    Retire(task, "exhausted");
    return {};
  }
  BatchState batch;
  batch.number = ask.batch;
  batch.task = task;
  batch.points = ask.points;
  if (ask.scores.size() == ask.points.size()) batch.scores = ask.scores;
  batch.results.resize(ask.points.size());
  TW_RETURN_IF_ERROR(ReplayResults(tells, batch));
  AddBatch(std::move(batch));
  return {};
}

Status Pipeline::ReplayResults(const TellEntries& tells, BatchState& batch) {
  for (std::size_t slot = 0; slot < batch.points.size(); ++slot) {
    const auto tell = tells.find({batch.number, static_cast<std::int64_t>(slot)});
    if (tell == tells.end()) continue;
    const Observation& observed = tell->second->observed;
    const std::string place = "search log: batch " + std::to_string(batch.number) + ", slot " +
                              std::to_string(slot) + ": ";
    if (observed.point != batch.points[slot]) {
      return Corrupt(place + "the observed point differs from the proposed point");
    }
    const std::size_t values = observed.values.size();
    if (values != 0 && values != job_.settings.metric.size()) {
      return Corrupt(place + std::to_string(values) + " values, expected " +
                     std::to_string(job_.settings.metric.size()));
    }
    batch.results[slot] = observed;
    ++batch.done;
    budget_.CountTrial(/*this_run=*/false);
    job_.At(batch.task).Note(observed, tell->second->verified, job_.KeptFastest());
  }
  return {};
}

}  // namespace tilewright::search
