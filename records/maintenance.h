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

/// Looking after a record store: what is in it, whether it is sound, and making it smaller.

/// What a store has of one task on one class of device.
struct TaskSummary {
  std::string workload_key, target, device;  ///< device: model
  std::int64_t trials = 0, verified = 0;
  double best = 0;  ///< least value of the verified ones that may be served today; 0: none
  std::map<std::string, std::int64_t> outcomes;
};
struct StoreSummary {
  std::vector<TaskSummary> tasks;  ///< by workload, target, device
  std::int64_t trials = 0, jobs = 0, unfinished_jobs = 0, log_entries = 0;
  std::int64_t file_bytes = 0, free_bytes = 0;  ///< free: what a vacuum gives back
  double oldest_unix_seconds = 0, newest_unix_seconds = 0;
  int schema = 0;
  std::string store_id;
  std::map<std::string, std::int64_t> stores;  ///< trials by the store they were measured into
};
Result<StoreSummary> Summarize(const TemplateRegistry& templates, const std::string& path);

/// One of the best trials of a task.
struct BestTrial {
  Record record;
  bool raced = false;              ///< it won the task's final race
  std::vector<std::int64_t> tied;  ///< configs that could not be told from it
};
/// The `top` fastest trials that may be served of every workload, target and device, with what is
/// equal to the last of them, the winners of races, and the fronts of those that know several
/// metrics; winners first, then by value and index.
Result<std::vector<BestTrial>> BestOfStore(const TemplateRegistry& templates,
                                           const std::string& path, std::int64_t top);

struct PruneOptions {
  /// Fastest ok trials kept for each workload, target and device (once among those that may be
  /// served today, once among the verified ones of other versions, once among the unverified), with
  /// all that are equal to the last of them, and those that no other one beats in all metrics they
  /// know.
  std::int64_t best = 32;
  /// Trials kept for each workload and target for cost models to learn from, failed ones included:
  /// a sample by their ids, which are hashes, so the same ones every time. -1: all.
  std::int64_t training = 512;
  bool dry_run = false;
};
struct PruneReport {
  std::int64_t trials = 0, removed = 0;
  std::int64_t kept_best = 0, kept_raced = 0, kept_training = 0, kept_unfinished = 0;  ///< overlap
};
/// Removes trials that are neither among the best, nor winners of races or tied with one, nor of
/// the training set, nor of a job that has not finished. Logs of searches stay, so jobs still go
/// on. Errors: those of opening the store for writing.
Result<PruneReport> PruneStore(const TemplateRegistry& templates, const std::string& path,
                               const PruneOptions& options);

/// What is wrong with a store: SQLite's integrity check, references to rows that are not there, and
/// our own rules (texts parse, ids are the hash of what they identify, values fit samples, winners
/// are there). At most `limit` lines. Empty: sound.
/// Errors: those of opening the store.
Result<std::vector<std::string>> CheckStore(const TemplateRegistry& templates,
                                            const std::string& path, std::size_t limit = 20);

struct VacuumReport {
  std::int64_t bytes_before = 0, bytes_after = 0;
};
/// Gives free pages back to the file system; with `into`, writes a compact copy there instead: one
/// file without a journal, which can be read from anywhere, network file systems included.
/// Errors: kInvalidArgument if `into` exists; kUnavailable (in use, no space).
Result<VacuumReport> VacuumStore(const std::string& path, const std::string& into);

struct BackupReport {
  std::int64_t trials = 0, bytes = 0;  ///< of the copy
};
/// Writes a copy of a store as it is at one moment, whoever writes to it meanwhile: one file
/// without a journal, which nobody sees before it is whole. Of an older schema it stays.
/// Errors: those of opening the store; kInvalidArgument if `to` exists; kUnavailable.
Result<BackupReport> BackupStore(const std::string& path, const std::string& to);

/// Writes one header line and one line for each trial that the filter takes, oldest first (RFC
/// 4180). write: called with pieces of text.
Status ExportCsv(const std::string& path, const TrialFilter& filter,
                 const std::function<Status(std::string_view)>& write);

}  // namespace tilewright::records
