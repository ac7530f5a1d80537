// Selection of the next task.
//
// The gain of a task's next trials is weight x best time x the relative improvement expected of the
// best time. That improvement combines the progress of the last batches with the potential of more
// trials. The potential shrinks with the number of trials, and with the ratio of the task's
// arithmetic rate to the best rate of any task of the job. Rates count the operations that the best
// config executes: Winograd convolution, counted as the direct one, would exceed the machine's
// peak, and every other task would seem to have potential. If the task's roofline is known, it
// replaces the best rate.
#include "search/task_scheduler.h"

#include <algorithm>
#include <utility>

namespace tilewright::search {
namespace {

constexpr std::size_t kWindow = 4;          // batches considered
constexpr double kTrustInHistory = 0.4;     // the rest is the potential
constexpr double kMinHeadroom = 0.1;        // a task at the best rate may still improve
constexpr double kMinBoundHeadroom = 0.02;  // the same of a task at its roofline
// A task without a working config is assumed to run at a tenth of the best rate, or of the
// roofline. Before its first batch: at this rate, if no other one is known.
constexpr double kUnknownSlowness = 10;
constexpr double kUnknownRate = 1e9;

}  // namespace

TaskScheduler::TaskScheduler(std::vector<ScheduledTask> tasks, const SchedulerOptions& options)
    : options_(options), tasks_(tasks.size()) {
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks_[i].task = tasks[i];
}

double TaskScheduler::BestRate() const {
  double rate = 0;
  for (const State& state : tasks_) {
    if (state.best > 0) rate = std::max(rate, OperationsOf(state) / state.best);
  }
  return rate;
}

double TaskScheduler::SecondsOf(const State& state, double rate) {
  if (state.best > 0) return state.best;
  const double bound = state.task.bound.LowerBound();
  if (bound > 0) return kUnknownSlowness * bound;
  return kUnknownSlowness * std::max(1.0, state.task.operations) / (rate > 0 ? rate : kUnknownRate);
}

double TaskScheduler::HeadroomOf(const State& state, double seconds, double rate) {
  const double bound = state.task.bound.LowerBound(state.product_share);
  if (bound > 0) return std::max(kMinBoundHeadroom, 1 - bound / seconds);
  return rate > 0 ? std::max(kMinHeadroom, 1 - OperationsOf(state) / seconds / rate) : 1;
}

double TaskScheduler::Gain(int task, std::int64_t trials) const {
  const State& state = At(task);
  const double rate = BestRate();
  const double seconds = SecondsOf(state, rate);
  const double headroom = HeadroomOf(state, seconds, rate);
  const auto next = static_cast<double>(trials);
  const double possible =
      headroom * next / (static_cast<double>(std::max(state.proposed, state.observed)) + next);
  double recent = 0;
  if (state.recent.size() >= 2 && state.recent.front().best > 0) {
    const State::Point& then = state.recent.front();
    const auto made =
        static_cast<double>(std::max<std::int64_t>(1, state.observed - then.observed));
    recent = (then.best - state.best) / then.best * next / made;
  }
  return state.task.weight * seconds *
         (kTrustInHistory * recent + (1 - kTrustInHistory) * possible);
}

bool TaskScheduler::NeedsTrials(const State& state, double rate) const {
  if (state.proposed >= options_.min_trials) return false;
  return HeadroomOf(state, SecondsOf(state, rate), rate) > kMinBoundHeadroom;
}

std::optional<int> TaskScheduler::Next() const {
  const double rate = BestRate();
  const auto rank = [this, rate](int task) {  // the highest is the next
    const State& state = At(task);
    const int need = state.proposed == 0 ? 2 : NeedsTrials(state, rate) ? 1 : 0;
    return std::pair(need, Gain(task));
  };
  const auto better = [&rank](int a, int b) { return rank(a) > rank(b); };
  std::optional<int> chosen;
  for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
    if (!At(i).retired && (!chosen || better(i, *chosen))) chosen = i;
  }
  return chosen;
}

std::int64_t TaskScheduler::unstarted() const {
  return std::count_if(tasks_.begin(), tasks_.end(),
                       [](const State& state) { return !state.retired && state.proposed == 0; });
}

void TaskScheduler::Proposed(int task, std::int64_t trials) { At(task).proposed += trials; }

void TaskScheduler::Observe(int task, std::int64_t trials, double best_seconds,
                            double product_share) {
  State& state = At(task);
  state.product_share = product_share;
  state.observed += trials;
  state.best = best_seconds;
  state.recent.push_back({state.observed, best_seconds});
  if (state.recent.size() > kWindow) state.recent.erase(state.recent.begin());
  if (best_seconds > 0 &&
      (state.improved_best == 0 ||
       best_seconds < state.improved_best * (1 - options_.early_stop_improvement))) {
    state.improved_best = best_seconds;
    state.improved_trials = state.observed;
  }
}

std::optional<std::int64_t> TaskScheduler::TrialsUntilStale() const {
  std::int64_t all = 0;
  for (const State& state : tasks_) {
    if (state.retired) continue;
    std::optional<std::int64_t> left;
    if (options_.early_stop_trials > 0) {
      left = std::max(options_.early_stop_trials - (state.observed - state.improved_trials),
                      options_.min_trials - state.observed);
    }
    if (state.task.configs > 0) {
      const std::int64_t rest = state.task.configs - state.observed;
      left = left ? std::min(*left, rest) : rest;
    }
    if (!left) return std::nullopt;
    all += std::max<std::int64_t>(0, *left);
  }
  return all;
}

void TaskScheduler::Retire(int task) { At(task).retired = true; }

bool TaskScheduler::Stale(int task) const {
  const State& state = At(task);
  return options_.early_stop_trials > 0 && state.observed >= options_.min_trials &&
         state.observed - state.improved_trials >= options_.early_stop_trials;
}

}  // namespace tilewright::search
