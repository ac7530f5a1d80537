#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "records/store.h"
#include "search/tuner.h"

// Identity of jobs in a store.

namespace tilewright::search {

/// Returns the name of a job in the store, from its tasks and its settings without limits.
/// life: number of its logs that no longer replay.
std::string JobName(const std::vector<TuneTask>& tasks, const JobSettings& settings,
                    std::vector<std::string> only_templates, int life);

/// Keeps the strategy of a job that was started when "model" was the default, because its log
/// belongs to that strategy. Errors: those of the store.
Status KeepEarlierDefault(const records::Store& store, const std::vector<TuneTask>& tasks,
                          const std::vector<std::string>& only_templates, int life,
                          JobSettings& settings);

/// Use of a job's limits by its earlier runs.
struct JobProgress {
  std::int64_t trials = 0;     ///< of the searches
  double elapsed_seconds = 0;  ///< wall time
};
/// Returns the progress of the job with these tasks and settings; zeros if the store has no such
/// job. Errors: those of the store; kCorrupt for an unreadable log.
Result<JobProgress> ProgressOf(const records::Store& store, const std::vector<TuneTask>& tasks,
                               JobSettings settings,
                               const std::vector<std::string>& only_templates);

}  // namespace tilewright::search
