#include "search/task_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/strategies/fronts.h"
#include "src/space/pareto_front.h"
#include "src/templates/products.h"

namespace tilewright::search {
namespace {

// Trials kept for other tasks to learn from: a few batches say what is fast and what is not.
constexpr std::size_t kFirstTrials = 64;

/// Puts it where it belongs in a list that is sorted by value, and keeps so many.
void KeepFastest(const Told& told, std::size_t keep, std::vector<Told>& list) {
  const auto slower = std::find_if(list.begin(), list.end(), [&told](const Told& other) {
    return told.value < other.value || (told.value == other.value && told.point < other.point);
  });
  list.insert(slower, told);
  if (list.size() > keep) list.pop_back();
}

}  // namespace

void TaskState::Note(const Told& told, bool verified, std::size_t keep_fastest) {
  ++report.trials;
  if (told.outcome != Outcome::kOk || told.value <= 0) {
    ++report.failures[std::string(OutcomeName(told.outcome))];
    report.current_seconds = 0;
    return;
  }
  report.current_seconds = told.value;
  report.disturbed_trials += told.noisy ? 1 : 0;
  if (default_point == told.point) {
    report.default_seconds = told.value;
    told_default = told;
  }
  if (!verified && !verified_last) return;
  if (!told.values.empty()) measured.push_back(told);
  KeepFastest(told, std::max<std::size_t>(1, keep_fastest), fastest);
  if (told.noisy) KeepFastest(told, std::max<std::size_t>(1, keep_fastest), suspects);
  const Told& best = fastest.front();
  if (best.point == told.point) {
    const auto which = static_cast<std::size_t>(best.point.space);
    report.best_seconds = best.value;
    report.noisy = best.noisy;
    report.best_template = space.templates[which]->key;
    report.best_config = space.spaces[which].At(best.point.index);
    report.best_product_share = ShareOf(best.point);
  }
}

void TaskState::Tell(const Told& told) {
  to_tell.push_back(told);
  if (first_trials.size() < kFirstTrials) first_trials.push_back(told);
  if (!told.values.empty()) return TellOfFront(told);
  if (told.outcome == Outcome::kOk && told.value > 0 &&
      (told_best_seconds == 0 || told.value < told_best_seconds)) {
    told_best_seconds = told.value;
    told_product_share = ShareOf(told.point);
  }
}

double TaskState::ShareOf(Point point) const {
  const auto which = static_cast<std::size_t>(point.space);
  return ProductShareOf(*space.templates[which], input.task.workload, input.epilogue,
                        input.task.target, space.spaces[which].At(point.index));
}

void TaskState::TellOfFront(const Told& told) {
  const auto directions = FrontDirections(told.values.size());
  told_bests.resize(directions.size(), std::numeric_limits<double>::infinity());
  double logarithms = 0;
  for (std::size_t d = 0; d < directions.size(); ++d) {
    told_bests[d] = std::min(told_bests[d], WeightedValue(told.values, directions[d]));
    logarithms += std::log2(told_bests[d]);
  }
  told_best_seconds = std::exp2(logarithms / static_cast<double>(directions.size()));
}

std::vector<Told> TaskState::Front() const {
  std::vector<Told> candidates;
  for (const Told& told : measured) {
    if (!wrong.contains(told.point)) candidates.push_back(told);
  }
  // Equal ones: the lowest point stands for them, whichever came first.
  std::ranges::stable_sort(candidates, {}, &Told::point);
  std::vector<std::vector<double>> rows;
  for (const Told& told : candidates) rows.push_back(told.values);
  std::vector<Told> front;
  for (const std::size_t i : ParetoFront(rows)) front.push_back(candidates[i]);
  return front;
}

void TaskState::NoteVerified(const Point& point, bool fine) {
  (fine ? right : wrong).insert(point);
  (fine ? wrong : right).erase(point);
}

std::vector<Told> TaskState::VerifiedFront() const {
  std::vector<Told> front = Front();
  if (verified_last) {
    std::erase_if(front, [this](const Told& told) { return !right.contains(told.point); });
  }
  return front;
}

std::optional<Point> TaskState::PointOf(const Candidate& candidate) const {
  const Result<Point> point = Locate(space, candidate);  // by its values: the index is only a hint
  return point.ok() ? std::optional<Point>(*point) : std::nullopt;
}

Result<std::unique_ptr<TaskState>> MakeTaskState(const TemplateRegistry& templates,
                                                 const TuneTask& task) {
  TW_ASSIGN_OR_RETURN(SearchSpace space, MakeSearchSpace(templates, task.task, task.epilogue));
  auto state = std::make_unique<TaskState>();
  state->input = task;
  state->key = task.task.workload.Key();
  state->space = std::move(space);
  state->inspector = std::make_unique<TemplateInspector>(state->space);
  state->space.defaults = DefaultPoints(state->space);
  if (!state->space.defaults->empty()) state->default_point = state->space.defaults->front();
  state->report.key = state->key;
  state->report.epilogue = task.epilogue.ToString();
  state->report.occurrences = task.occurrences;
  state->report.macs = task.task.workload.macs();
  state->report.space_size = state->space.size();
  return state;
}

}  // namespace tilewright::search
