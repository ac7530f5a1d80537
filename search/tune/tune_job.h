#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "records/store.h"
#include "search/job.h"
#include "search/tune/task_state.h"
#include "search/tuner.h"

namespace tilewright::search {

/// The job of one call of Tune, shared by all parts of the run: settings, tasks, and its record in
/// the store. Used by the thread of Tune, except for the strategies of its tasks (TuneProposer).
struct TuneJob {
  TuneJob(const JobSettings& job_settings, const TuneContext& tune_context)
      : settings(job_settings), context(tune_context) {}

  JobSettings settings;
  const TuneContext& context;
  std::vector<std::unique_ptr<TaskState>> tasks;
  records::Job record;
  bool simulated = false;  ///< trials are counted, not timed (IsSimulated)

  TaskState& At(int task) const { return *tasks[static_cast<std::size_t>(task)]; }
  /// The context's, else one that does nothing.
  TuneObserver& observer() const {
    return context.observer != nullptr ? *context.observer : no_observer_;
  }
  bool StopRequested() const { return context.stop != nullptr && context.stop->load(); }
  /// Number of a task's fastest trials that are kept for its race, which drops slow ones soon.
  std::size_t KeptFastest() const { return 2 * static_cast<std::size_t>(settings.finalists); }
  /// Removes values of metrics that the job did not request.
  void DropUnrequestedMetrics(Trial& trial) const;
  /// The result of a point as strategies see it.
  Observation ObservationOf(Point point, const Trial& trial) const;

 private:
  mutable TuneObserver no_observer_;
};

}  // namespace tilewright::search
