#include "src/report/tune/progress.h"

#include <algorithm>

namespace tilewright::report {

void ProgressObserver::Opened(const std::string& job_name) {
  {
    const std::lock_guard lock(mutex_);
    job_ = job_name;
    begun_ = clock_.MonotonicSeconds();
    earlier_trials_ = 0;  // another log of the job starts without trials
  }
  next_.Opened(job_name);
}

void ProgressObserver::Resumed(std::int64_t trials) {
  {
    const std::lock_guard lock(mutex_);
    earlier_trials_ = trials;
  }
  next_.Resumed(trials);
}

void ProgressObserver::TrialDone(const search::TaskReport& task, int task_index, const Trial& trial,
                                 double eta_seconds) {
  {
    const std::lock_guard lock(mutex_);
    const Candidate& candidate = trial.candidate;
    ++trials_;
    newest_at_ = clock_.MonotonicSeconds();
    if (eta_seconds > 0) end_ = newest_at_ + eta_seconds;
    LivePage& page = newest_.emplace();
    page.task = candidate.task.workload.Key();
    page.epilogue = candidate.epilogue.ToString();
    page.target = candidate.task.target.ToString();
    page.template_key = candidate.template_key;
    page.config = candidate.config.ToString();
    page.outcome = OutcomeName(trial.outcome);
    page.value = trial.outcome == Outcome::kOk ? trial.value : 0;
  }
  next_.TrialDone(task, task_index, trial, eta_seconds);
}

void ProgressObserver::TaskFinished(const search::TaskReport& task, int task_index) {
  {
    const std::lock_guard lock(mutex_);
    finished_[static_cast<std::size_t>(task_index)] = true;
  }
  next_.TaskFinished(task, task_index);
}

std::string ProgressObserver::job() const {
  const std::lock_guard lock(mutex_);
  return job_;
}

std::optional<LivePage> ProgressObserver::Progress() const {
  const std::lock_guard lock(mutex_);
  if (!newest_) return std::nullopt;
  LivePage page = *newest_;
  const double now = clock_.MonotonicSeconds();
  page.elapsed_seconds = now - begun_;
  page.eta_seconds = end_ ? std::max(0.0, *end_ - now) : 0;
  page.trials = earlier_trials_ + trials_;
  if (newest_at_ > begun_) {
    page.trials_per_second = static_cast<double>(trials_) / (newest_at_ - begun_);
  }
  page.tasks = std::ssize(finished_);
  page.finished_tasks = std::ranges::count(finished_, true);
  if (trial_limit_ > 0) {
    page.share = static_cast<double>(page.trials) / static_cast<double>(trial_limit_);
  } else if (end_ && *end_ > begun_) {
    page.share = page.elapsed_seconds / (*end_ - begun_);
  }
  page.share = std::min(1.0, page.share);
  return page;
}

}  // namespace tilewright::report
