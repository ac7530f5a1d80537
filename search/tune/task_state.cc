#include "search/tune/task_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/open/open_search_space.h"
#include "search/strategies/fronts.h"
#include "src/space/pareto_front.h"
#include "src/templates/products.h"

namespace tilewright::search {
namespace {

// Trials kept for other tasks to learn from: a few batches show which configs are fast.
constexpr std::size_t kFirstTrials = 64;

/// Inserts it into a list that is sorted by value, and keeps the first `keep`.
void KeepFastest(const Observation& observed, std::size_t keep, std::vector<Observation>& list) {
  const auto slower = std::find_if(list.begin(), list.end(), [&observed](const Observation& other) {
    return observed.value < other.value ||
           (observed.value == other.value && observed.point < other.point);
  });
  list.insert(slower, observed);
  if (list.size() > keep) list.pop_back();
}

}  // namespace

void TaskState::Note(const Observation& observed, bool verified, std::size_t keep_fastest) {
  ++report.trials;
  if (observed.outcome != Outcome::kOk || observed.value <= 0) {
    ++report.failures[std::string(OutcomeName(observed.outcome))];
    report.current_seconds = 0;
    return;
  }
  report.current_seconds = observed.value;
  report.disturbed_trials += observed.noisy ? 1 : 0;
  if (default_point == observed.point) {
    report.default_seconds = observed.value;
    observed_default = observed;
  }
  if (!verified && !defer_verification) return;
  if (!observed.values.empty()) measured.push_back(observed);
  KeepFastest(observed, std::max<std::size_t>(1, keep_fastest), fastest);
  if (observed.noisy)
    KeepFastest(observed, std::max<std::size_t>(1, keep_fastest), noisy_contenders);
  const Observation& best = fastest.front();
  if (best.point == observed.point) {
    const auto which = static_cast<std::size_t>(best.point.space);
    report.best_seconds = best.value;
    report.noisy = best.noisy;
    report.best_template = space.templates[which]->key;
    report.best_config = space.spaces[which].At(best.point.index);
    report.best_product_share = ShareOf(best.point);
  }
}

void TaskState::Tell(const Observation& observed) {
  pending_observations.push_back(observed);
  if (first_trials.size() < kFirstTrials) first_trials.push_back(observed);
  if (!observed.values.empty()) return UpdateFront(observed);
  if (observed.outcome == Outcome::kOk && observed.value > 0 &&
      (observed_best_seconds == 0 || observed.value < observed_best_seconds)) {
    observed_best_seconds = observed.value;
    observed_product_share = ShareOf(observed.point);
  }
}

double TaskState::ShareOf(Point point) const {
  const auto which = static_cast<std::size_t>(point.space);
  return ProductShareOf(*space.templates[which], input.task.workload, input.epilogue,
                        input.task.target, space.spaces[which].At(point.index));
}

void TaskState::UpdateFront(const Observation& observed) {
  const auto directions = FrontDirections(observed.values.size());
  observed_bests.resize(directions.size(), std::numeric_limits<double>::infinity());
  double logarithms = 0;
  for (std::size_t d = 0; d < directions.size(); ++d) {
    observed_bests[d] = std::min(observed_bests[d], WeightedValue(observed.values, directions[d]));
    logarithms += std::log2(observed_bests[d]);
  }
  observed_best_seconds = std::exp2(logarithms / static_cast<double>(directions.size()));
}

std::vector<Observation> TaskState::Front() const {
  std::vector<Observation> candidates;
  for (const Observation& observed : measured) {
    if (!wrong.contains(observed.point)) candidates.push_back(observed);
  }
  // Of equal ones the lowest point remains, in any order of arrival.
  std::ranges::stable_sort(candidates, {}, &Observation::point);
  std::vector<std::vector<double>> rows;
  for (const Observation& observed : candidates) rows.push_back(observed.values);
  std::vector<Observation> front;
  for (const std::size_t i : ParetoFront(rows)) front.push_back(candidates[i]);
  return front;
}

void TaskState::RecordVerification(const Point& point, bool fine) {
  (fine ? right : wrong).insert(point);
  (fine ? wrong : right).erase(point);
}

std::vector<Observation> TaskState::VerifiedFront() const {
  std::vector<Observation> front = Front();
  if (defer_verification) {
    std::erase_if(front,
                  [this](const Observation& observed) { return !right.contains(observed.point); });
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
  AddLegalPoints(state->space);
  state->analyzer = std::make_unique<TemplateAnalyzer>(state->space);
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
