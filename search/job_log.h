#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/store.h"
#include "search/strategy.h"

namespace tilewright::search {

// Search log of a job, one line of JSON per entry (docs/records.md). The entries in the order of
// the batches are the complete state of the search.

/// "begin": creation of a task's strategy, with the trials of other tasks that it learns from, and
/// the points it proposes first.
struct BeginEntry {
  struct Source {
    std::string key;          ///< another task of the job, or "store:" and a workload of older jobs
    std::int64_t trials = 0;  ///< number of its trials, from the first one
  };
  std::vector<Source> warm;
  std::vector<Point> first;  ///< none in logs of earlier versions
};

/// "ask": proposal of batch `batch` of the job, after the strategy observed the batches `observed`.
struct AskEntry {
  std::int64_t batch = 0;  ///< counted over all tasks of the job, from 0
  std::vector<std::int64_t> observed;
  std::vector<Point> points;  ///< empty: the strategy had no more
  /// Predictions of the strategy's model, parallel to points; empty in logs of earlier versions, or
  /// without a model.
  std::vector<float> scores;
  double elapsed_seconds = 0;  ///< wall time of the job over all runs
  std::string strategy_state;  ///< serialized state of the strategy
};

/// "tell": result of point `slot` of a batch.
struct TellEntry {
  std::int64_t batch = 0;
  std::int64_t slot = 0;
  Observation observed;
  bool verified = false;
};

/// "best": result of the race of a task's finalists, after this number of batches.
struct BestEntry {
  std::int64_t batches = 0;
  Point winner;
  double best_seconds = 0, default_seconds = 0;
  std::vector<std::int64_t> ties;
  std::int64_t attempt = 0;
  bool noisy = false;  ///< the race was noisy throughout
  /// Number of the task's trials; -1 in logs of earlier versions.
  std::int64_t trials = -1;
};

/// "life": start of a run of the job. Of the whole job: its task key is empty.
struct RunEntry {
  struct Task {
    std::string key, epilogue;
    std::int64_t occurrences = 1;
  };
  double unix_seconds = 0;
  double elapsed_seconds = 0;  ///< wall time of the earlier runs
  double resolution = 0;       ///< smallest difference that the device can resolve, relative
  std::vector<Task> tasks;
  // Not in logs of earlier versions.
  std::string command = {};   ///< TuneContext::command
  std::int64_t trials = 0;    ///< JobSettings::trials, the limit
  double budget_seconds = 0;  ///< JobSettings::budget_seconds
  std::string deadline = {};  ///< JobSettings::deadline
};

/// "time": breakdown of the time of this run so far. Of the whole job: its task key is empty.
struct TimeEntry {
  double elapsed_seconds = 0;  ///< wall time of all runs
  double wall_seconds = 0;     ///< of this run, as are the others
  double runner_busy_seconds = 0, runner_timing_seconds = 0;
  double builder_busy_seconds = 0;  ///< at least one builder works
  double model_seconds = 0;         ///< proposals and training, on separate threads
  double idle_seconds = 0;          ///< neither builder nor runner works
  std::int64_t trials = 0;          ///< of this run
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
/// Decoded entries of the job itself, which have an empty task key.
struct JobLog {
  std::vector<RunEntry> runs;
  std::vector<TimeEntry> times;
};
/// Errors: kCorrupt with the invalid entry.
Result<JobLog> DecodeJobLog(const std::vector<records::LogEntry>& entries);
/// Errors: kCorrupt with the invalid entry.
Result<TaskLog> Decode(const std::vector<records::LogEntry>& entries);

}  // namespace tilewright::search
