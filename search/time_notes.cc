// What a job writes down of itself for reports: when it ran, what it tunes, where its time goes.
// Nothing of it takes part in going on with a job.
#include <algorithm>

#include "search/tuner_impl.h"

namespace tilewright::search {
namespace {

// Where the time goes is written down after each such share of the time, within bounds: a job of a
// minute has about fifty notes, one of eight hours a thousand.
constexpr double kNoteShare = 0.02;
constexpr double kLeastNoteSeconds = 1;
constexpr double kMostNoteSeconds = 30;

}  // namespace

void TuneRun::NoteLife() {
  LifeEntry life{context_.clock->UnixSeconds(), Elapsed(), context_.measurer->resolution(), {}};
  for (const auto& task : tasks_) {
    life.tasks.push_back({task->key, task->input.epilogue.ToString(), task->input.occurrences});
  }
  Writer::Item item;
  item.log.push_back(Encode(life));
  writer_->Push(std::move(item));
}

measure::TimeSplit TuneRun::SplitNow() const {
  measure::TimeSplit split = context_.measurer->time_split();
  split.wall_seconds -= before_.wall_seconds;
  split.runner_busy_seconds -= before_.runner_busy_seconds;
  split.runner_timing_seconds -= before_.runner_timing_seconds;
  split.builder_busy_seconds -= before_.builder_busy_seconds;
  split.idle_seconds -= before_.idle_seconds;
  return split;
}

void TuneRun::NoteTime(bool always) {
  const double wall = context_.clock->MonotonicSeconds() - start_seconds_;
  const double step = std::clamp(kNoteShare * wall, kLeastNoteSeconds, kMostNoteSeconds);
  if (!always && wall - noted_wall_ < step) return;
  noted_wall_ = wall;
  const measure::TimeSplit split = SplitNow();
  TimeEntry entry{Elapsed(),
                  wall,
                  split.runner_busy_seconds,
                  split.runner_timing_seconds,
                  split.builder_busy_seconds,
                  model_seconds_,
                  split.idle_seconds,
                  trials_this_run_};
  Writer::Item item;
  item.log.push_back(Encode(entry));
  writer_->Push(std::move(item));
}

}  // namespace tilewright::search
