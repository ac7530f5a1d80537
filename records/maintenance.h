#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "records/store.h"
#include "src/base/status.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Maintenance of a record store: summary, consistency check, pruning and compaction.

/// Summary of one task on one device class.
struct TaskSummary {
  std::string workload_key, target, device;  ///< device: model
  std::int64_t trials = 0, verified = 0;
  std::int64_t raced = 0;  ///< of the trials: configs measured again in races
  /// Of the trials: those of lost devices, and repetitions of trials of excluded devices.
  std::int64_t additional = 0;
  std::int64_t failed = 0;  ///< trials without a time, but for the additional ones
  double best = 0;          ///< least value of the verified trials that are served today; 0: none
  std::string graph;  ///< model file of a job that tuned it, as its settings have it; may be empty
  std::map<std::string, std::int64_t> outcomes;

  /// Returns the number of trials of searches, as `tune` counts them.
  std::int64_t searched() const { return trials - raced - additional; }
};
struct StoreSummary {
  std::vector<TaskSummary> tasks;  ///< by workload, target, device
  std::int64_t trials = 0, jobs = 0, unfinished_jobs = 0, log_entries = 0;
  std::int64_t file_bytes = 0, free_bytes = 0;  ///< free: bytes that a vacuum releases
  double oldest_unix_seconds = 0, newest_unix_seconds = 0;
  int schema = 0;
  std::string store_id;
  std::map<std::string, std::int64_t> stores;  ///< trials by the store of their measurement
};
Result<StoreSummary> Summarize(const TemplateRegistry& templates, const std::string& path);

/// Best trial of a task.
struct BestTrial {
  Record record;
  bool raced = false;              ///< it won the task's final race
  std::vector<std::int64_t> tied;  ///< configs that the race could not distinguish from it
};
/// Returns the `top` fastest trials that may be served for every workload, target and device. Adds
/// all trials equal to the last of them, the winners of races, and the Pareto fronts of trials with
/// several metrics. Sorted by winners first, then by value and index.
Result<std::vector<BestTrial>> BestOfStore(const TemplateRegistry& templates,
                                           const std::string& path, std::int64_t top);

struct PruneOptions {
  /// Number of fastest ok trials kept for each workload, target and device. It applies three times:
  /// to trials that may be served today, to verified trials of other versions, and to unverified
  /// ones. Trials equal to the last of them, and those that no other one beats in all known
  /// metrics, are kept too.
  std::int64_t best = 32;
  /// Number of trials, failed ones included, kept for each workload and target to train cost
  /// models. The sample is chosen by the trials' ids, which are hashes, so it is reproducible. -1:
  /// all.
  std::int64_t training = 512;
  bool dry_run = false;
};
struct PruneReport {
  std::int64_t trials = 0, removed = 0;
  /// These groups overlap.
  std::int64_t kept_best = 0, kept_raced = 0, kept_training = 0, kept_unfinished = 0;
};
/// Removes trials that are not among the best, not winners of races or tied with one, not in the
/// training set, and not of an unfinished job. Keeps the search logs, so jobs can still be resumed.
/// Errors: those of opening the store for writing.
Result<PruneReport> PruneStore(const TemplateRegistry& templates, const std::string& path,
                               const PruneOptions& options);

/// Returns the defects of a store: SQLite's integrity check, references to missing rows, and the
/// project's rules (texts parse, ids are the hash of what they identify, values fit samples,
/// winners exist). At most `limit` lines. Empty: the store is valid.
/// Errors: those of opening the store.
Result<std::vector<std::string>> CheckStore(const TemplateRegistry& templates,
                                            const std::string& path, std::size_t limit = 20);

struct VacuumReport {
  std::int64_t bytes_before = 0, bytes_after = 0;
};
/// Releases free pages to the file system. With `into`, writes a compact copy there instead: one
/// file without a journal, which can be read anywhere, including network file systems.
/// Errors: kInvalidArgument if `into` exists; kUnavailable (in use, no space).
Result<VacuumReport> VacuumStore(const std::string& path, const std::string& into);

struct BackupReport {
  std::int64_t trials = 0, bytes = 0;  ///< of the copy
};
/// Writes a consistent copy of a store, even while other processes write to the store. The copy is
/// one file without a journal and appears only when it is complete. It keeps an older schema
/// version.
/// Errors: those of opening the store; kInvalidArgument if `to` exists; kUnavailable.
Result<BackupReport> BackupStore(const std::string& path, const std::string& to);

/// Writes one header line and one line for each trial that the filter accepts, oldest first (RFC
/// 4180). write: called with pieces of text.
Status ExportCsv(const std::string& path, const TrialFilter& filter,
                 const std::function<Status(std::string_view)>& write);

}  // namespace tilewright::records
