#include "search/recorded/replay.h"

#include <algorithm>
#include <utility>

namespace tilewright::search {

ReplayMeasurer::ReplayMeasurer(Outcomes outcomes, VirtualClock& clock, const ReplayOptions& options)
    : outcomes_(std::move(outcomes)),
      clock_(clock),
      options_(options),
      builder_free_(static_cast<std::size_t>(std::max(1, options.builders)), 0),
      start_(clock.MonotonicSeconds()) {
  device_.kind = "replay";
  device_.model = "replay";
}

/// Counts an interval as busy. Intervals arrive nearly in order of their start; overlapping parts
/// are counted once.
void ReplayMeasurer::Occupy(double from, double to) {
  from = std::max(from, busy_until_);
  if (to > from) {
    split_.idle_seconds -= to - from;
    busy_until_ = to;
  }
}

Status ReplayMeasurer::Submit(measure::Request request) {
  submitted_.push_back(request.candidate);
  Job job;
  job.reply.ticket = request.ticket;
  job.reply.trial = outcomes_(request.candidate);
  Trial& trial = job.reply.trial;
  trial.candidate = std::move(request.candidate);
  trial.attempt = request.attempt;
  trial.device = device_;
  const auto builder = std::min_element(builder_free_.begin(), builder_free_.end());
  job.build_start = std::max(*builder, clock_.MonotonicSeconds());
  job.build_end = job.build_start + trial.build_seconds;
  *builder = job.build_end;
  split_.builder_busy_seconds += trial.build_seconds;
  Occupy(job.build_start, job.build_end);
  if (trial.outcome != Outcome::kBuildFailed && trial.outcome != Outcome::kBuildTimeout) {
    job.run_start = std::max(job.build_end, runner_free_);
    job.run_end = job.run_start + trial.run_seconds;
    runner_free_ = job.run_end;
    split_.runner_busy_seconds += trial.run_seconds;
    split_.runner_timing_seconds += trial.run_seconds;
    Occupy(job.run_start, job.run_end);
  }
  trial.finished_unix_seconds = job.done();
  jobs_.push_back(std::move(job));
  return {};
}

Result<std::optional<measure::Reply>> ReplayMeasurer::Next(double timeout_seconds) {
  const auto first = std::min_element(
      jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) { return a.done() < b.done(); });
  const double now = clock_.MonotonicSeconds();
  if (first == jobs_.end() || first->done() > now + timeout_seconds) {
    clock_.AdvanceTo(now + timeout_seconds);
    return std::optional<measure::Reply>();
  }
  clock_.AdvanceTo(first->done());
  std::optional<measure::Reply> reply = std::move(first->reply);
  jobs_.erase(first);
  return reply;
}

std::vector<std::uint64_t> ReplayMeasurer::CancelPending() {
  const double now = clock_.MonotonicSeconds();
  std::vector<std::uint64_t> dropped;
  runner_free_ = now;
  for (double& builder : builder_free_) builder = now;
  std::erase_if(jobs_, [&](const Job& job) {
    const bool began = job.run_end > 0 ? job.run_start < now : job.build_end <= now;
    if (began) runner_free_ = std::max(runner_free_, job.run_end);
    if (!began) dropped.push_back(job.reply.ticket);
    return !began;
  });
  return dropped;
}

measure::TimeSplit ReplayMeasurer::time_split() const {
  measure::TimeSplit split = split_;
  split.wall_seconds = clock_.MonotonicSeconds() - start_;
  split.idle_seconds = std::max(0.0, split.wall_seconds + split_.idle_seconds);
  return split;
}

Result<std::vector<Trial>> ReplayMeasurer::Race(const std::vector<Candidate>& finalists,
                                                const measure::RaceSettings& /*terms*/) {
  std::vector<Trial> trials;
  for (const Candidate& candidate : finalists) {
    Trial trial = outcomes_(candidate);
    trial.candidate = candidate;
    trial.device = device_;
    clock_.SleepSeconds(trial.run_seconds);
    trial.finished_unix_seconds = clock_.UnixSeconds();
    trials.push_back(std::move(trial));
  }
  return trials;
}

}  // namespace tilewright::search
