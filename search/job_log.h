#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/store.h"
#include "search/strategy.h"

namespace tilewright::search {

// The search log of a job, one line of JSON per entry (docs/records.md). Together, in order of the
// batches, the entries are the whole state of the search.

/// "begin": a task's strategy was made, which trials of other tasks it may learn from, and which
/// points it proposes first.
struct BeginEntry {
  struct Source {
    std::string key;          ///< another task of the job, or "store:" and a workload of older jobs
    std::int64_t trials = 0;  ///< number of first trials
  };
  std::vector<Source> warm;
  std::vector<Point> first;  ///< none in logs of earlier versions
};

/// "ask": batch `batch` of the job was proposed; before it, the batches `told` were told.
struct AskEntry {
  std::int64_t batch = 0;  ///< counted over all tasks of the job, from 0
  std::vector<std::int64_t> observed;
  std::vector<Point> points;  ///< none: the strategy had no more
  /// What its model thought of them, parallel to points; none in logs of earlier versions, or
  /// without a model.
  std::vector<float> scores;
  double elapsed_seconds = 0;  ///< wall time the job had spent in all its lives
  std::string strategy_state;  ///< the strategy's
};

/// "tell": what came of point `slot` of a batch.
struct TellEntry {
  std::int64_t batch = 0;
  std::int64_t slot = 0;
  Observation observed;
  bool verified = false;
};

/// "best": the finalists of a task were raced after this number of proposed batches.
struct BestEntry {
  std::int64_t batches = 0;
  Point winner;
  double best_seconds = 0, default_seconds = 0;
  std::vector<std::int64_t> ties;
  std::int64_t attempt = 0;
  bool noisy = false;  ///< the race found no quiet moments
  /// Trials of the task there were; -1 in logs of earlier versions.
  std::int64_t trials = -1;
};

/// "life": the job was started, or went on. Of the whole job: its task key is empty.
struct RunEntry {
  struct Task {
    std::string key, epilogue;
    std::int64_t occurrences = 1;
  };
  double unix_seconds = 0;
  double elapsed_seconds = 0;  ///< wall time of the lives before
  double resolution = 0;       ///< smallest difference the device can tell, relative
  std::vector<Task> tasks;
};

/// "time": where the time of this life has gone so far. Of the whole job: its task key is empty.
struct TimeEntry {
  double elapsed_seconds = 0;  ///< wall time of all lives
  double wall_seconds = 0;     ///< of this life; the others, too
  double runner_busy_seconds = 0, runner_timing_seconds = 0;
  double builder_busy_seconds = 0;  ///< at least one builder works
  double model_seconds = 0;         ///< asking and learning, on threads beside
  double idle_seconds = 0;          ///< neither builder nor runner works
  std::int64_t trials = 0;          ///< of this life
};

records::LogEntry Encode(const RunEntry& entry);
records::LogEntry Encode(const TimeEntry& entry);
records::LogEntry Encode(std::string_view task_key, const BeginEntry& entry);
records::LogEntry Encode(std::string_view task_key, const AskEntry& entry);
records::LogEntry Encode(std::string_view task_key, const TellEntry& entry);
records::LogEntry Encode(std::string_view task_key, const BestEntry& entry);

/// A task's entries, decoded.
struct TaskLog {
  std::optional<BeginEntry> begin;
  std::vector<AskEntry> asks;
  std::vector<TellEntry> tells;
  std::optional<BestEntry> best;  ///< the last one
};
/// What a job's own entries say, those with an empty task key.
struct JobLog {
  std::vector<RunEntry> runs;
  std::vector<TimeEntry> times;
};
/// Errors: kCorrupt with the entry that was not understood.
Result<JobLog> DecodeJobLog(const std::vector<records::LogEntry>& entries);
/// Errors: kCorrupt with the entry that was not understood.
Result<TaskLog> Decode(const std::vector<records::LogEntry>& entries);

}  // namespace tilewright::search
