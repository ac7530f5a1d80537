#include "measure/supervisor/time_ledger.h"

#include <algorithm>

namespace tilewright::measure {

void TimeLedger::AddUntil(double now, TimeSplit& split) const {
  const double elapsed = std::max(0.0, now - last_);
  if (running_) split.runner_busy_seconds += elapsed;
  if (building_) split.builder_busy_seconds += elapsed;
  if (!running_ && !building_ && !preparing_) split.idle_seconds += elapsed;
}

void TimeLedger::Set(double now, bool running, bool building, bool preparing) {
  AddUntil(now, split_);
  last_ = std::max(now, last_);
  running_ = running;
  building_ = building;
  preparing_ = preparing;
}

TimeSplit TimeLedger::At(double now) const {
  TimeSplit split = split_;
  AddUntil(now, split);
  split.wall_seconds = std::max(now, last_) - start_;
  return split;
}

}  // namespace tilewright::measure
