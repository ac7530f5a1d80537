#include "search/tune/journal.h"

#include <algorithm>
#include <utility>

namespace tilewright::search {
namespace {

// Simulated trials take a millisecond: they do not wait for others for fifty.
constexpr double kCountedGatherSeconds = 0.005;
// Interval of the time notes, as a share of the limit, within bounds: a job of a minute has about
// fifty notes, one of eight hours a thousand.
constexpr double kNoteShare = 0.02;
constexpr double kMinNoteSeconds = 1;
constexpr double kMaxNoteSeconds = 30;

}  // namespace

Journal::Journal(const TuneJob& job, const Budget& budget)
    : job_(job),
      budget_(budget),
      writer_(*job.context.store, job.record.id,
              job.simulated ? kCountedGatherSeconds : Writer::kGatherSeconds) {}

void Journal::BeginSearch() {
  before_ = job_.context.measurer->time_split();
  RunEntry run{job_.context.clock->UnixSeconds(),
               budget_.ElapsedSeconds(),
               job_.context.measurer->resolution(),
               {},
               job_.context.command,
               job_.settings.trials,
               job_.settings.budget_seconds,
               job_.settings.deadline};
  for (const auto& task : job_.tasks) {
    run.tasks.push_back({task->key, task->input.epilogue.ToString(), task->input.occurrences});
  }
  Append(Encode(run));
}

void Journal::NoteTime(double model_seconds) {
  const double wall = budget_.RunSeconds();
  const double step = std::clamp(kNoteShare * wall, kMinNoteSeconds, kMaxNoteSeconds);
  if (wall - noted_seconds_ >= step) WriteTimeEntry(model_seconds);
}

void Journal::EndSearch(double model_seconds) {
  search_seconds_ = budget_.RunSeconds();
  split_ = SplitNow();
  WriteTimeEntry(model_seconds);
}

void Journal::WriteTimeEntry(double model_seconds) {
  noted_seconds_ = budget_.RunSeconds();
  const measure::TimeSplit split = SplitNow();
  last_time_ = {budget_.ElapsedSeconds(),   noted_seconds_,
                split.runner_busy_seconds,  split.runner_timing_seconds,
                split.builder_busy_seconds, model_seconds,
                split.idle_seconds,         budget_.trials_this_run()};
  Append(Encode(last_time_));
}

measure::TimeSplit Journal::SplitNow() const {
  measure::TimeSplit split = job_.context.measurer->time_split();
  split.wall_seconds -= before_.wall_seconds;
  split.runner_busy_seconds -= before_.runner_busy_seconds;
  split.runner_timing_seconds -= before_.runner_timing_seconds;
  split.builder_busy_seconds -= before_.builder_busy_seconds;
  split.idle_seconds -= before_.idle_seconds;
  return split;
}

void Journal::Append(records::LogEntry entry) {
  Writer::Item item;
  item.log.push_back(std::move(entry));
  writer_.Push(std::move(item));
}

void Journal::Append(Trial trial) {
  Writer::Item item;
  item.trials.push_back(std::move(trial));
  writer_.Push(std::move(item));
}

void Journal::Append(std::uint64_t ticket, Trial trial, records::LogEntry entry) {
  Writer::Item item;
  item.ticket = ticket;
  item.log.push_back(std::move(entry));
  item.trials.push_back(std::move(trial));
  writer_.Push(std::move(item));
}

}  // namespace tilewright::search
