// The finalists of a task are measured again, interleaved, together with the default config: the
// fastest single measurement of many is flattered by chance, and what is reported is a ratio.
#include <algorithm>
#include <utility>

#include "search/tuner_impl.h"

namespace tilewright::search {
namespace {

// What was slower than the best by more has no chance to win a race.
constexpr double kContender = 1.15;

/// Whether a's interval and b's overlap, or differ by less than the device can tell.
bool SameSpeed(const Trial& a, const Trial& b, double resolution) {
  const Trial& fast = a.value <= b.value ? a : b;
  const Trial& slow = a.value <= b.value ? b : a;
  return slow.value * (1 - slow.noise) <= fast.value * (1 + fast.noise) ||
         slow.value <= fast.value * (1 + resolution);
}

}  // namespace

Status TuneRun::Race() {
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    if (StopRequested()) {
      interrupted_ = true;
      return {};
    }
    TW_RETURN_IF_ERROR(RaceTask(i));
  }
  return context_.store->FinishJob(job_.id);
}

Status TuneRun::RaceTask(int task) {
  TaskState& state = TaskAt(task);
  if (state.fastest.empty()) return {};
  const auto show = [&state](const BestEntry& best) {
    const auto which = static_cast<std::size_t>(best.winner.space);
    state.report.best_seconds = best.best_seconds;
    if (best.default_seconds > 0) state.report.default_seconds = best.default_seconds;
    state.report.best_template = state.space.templates[which]->key;
    state.report.best_config = state.space.spaces[which].At(best.winner.index);
    state.report.ties = best.ties;
  };
  if (state.raced && state.raced->batches > state.last_batch) {
    show(*state.raced);
    return {};
  }
  if (settings_.finalists == 0) return {};
  std::vector<Point> points;
  for (const Told& told : state.fastest) {
    if (told.value <= state.fastest.front().value * kContender) points.push_back(told.point);
  }
  if (state.default_point && state.report.default_seconds > 0 &&
      std::find(points.begin(), points.end(), *state.default_point) == points.end()) {
    points.push_back(*state.default_point);
  }
  std::vector<Candidate> candidates;
  for (Point point : points) candidates.push_back(ToCandidate(state.space, point));
  Result<std::vector<Trial>> raced = context_.measurer->Race(candidates);
  TW_RETURN_IF_ERROR(raced);
  if (raced->size() != points.size()) return Internal("race: wrong number of results");

  BestEntry best;
  best.batches = next_batch_;
  best.attempt = state.last_attempt + 1;
  std::size_t fastest = points.size();
  for (std::size_t i = 0; i < points.size(); ++i) {
    Trial& trial = (*raced)[i];
    trial.attempt = best.attempt;
    if (trial.outcome != Outcome::kOk || trial.value <= 0 || !trial.verified) continue;
    if (points[i] == state.default_point) best.default_seconds = trial.value;
    if (fastest == points.size() || trial.value < (*raced)[fastest].value) fastest = i;
  }
  Status stored = context_.store->Append(job_.id, *raced, {});
  if (!stored.ok() || fastest == points.size()) return stored;
  std::size_t winner = fastest;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Trial& trial = (*raced)[i];
    if (trial.outcome != Outcome::kOk || trial.value <= 0 || !trial.verified ||
        !SameSpeed(trial, (*raced)[fastest], context_.measurer->resolution())) {
      continue;
    }
    const auto rank = [&points](std::size_t at) {
      return std::pair(points[at].index, points[at].space);
    };
    if (rank(i) < rank(winner)) winner = i;
    best.ties.push_back(points[i].index);
  }
  std::sort(best.ties.begin(), best.ties.end());
  best.winner = points[winner];
  std::erase(best.ties, best.winner.index);
  best.best_seconds = (*raced)[winner].value;
  TW_RETURN_IF_ERROR(context_.store->StoreBest(job_.id, (*raced)[winner], best.ties));
  TW_RETURN_IF_ERROR(context_.store->Append(job_.id, {}, {Encode(state.key, best)}));
  state.raced = best;
  state.last_attempt = best.attempt;
  show(best);
  return {};
}

}  // namespace tilewright::search
