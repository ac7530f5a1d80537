#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/miss.h"
#include "src/base/files/mapped_file.h"
#include "src/base/status.h"
#include "src/space/trial.h"

namespace tilewright {
class TemplateRegistry;
struct OpenTask;
}  // namespace tilewright

namespace tilewright::records {

class Database;

/// Stored tuning job: its settings, so that the same command resumes it.
struct Job {
  std::int64_t id = 0;
  std::string name;      ///< hash of graph, target and settings: identifies the job
  std::string settings;  ///< JSON
  std::uint64_t seed = 0;
  bool finished = false;
};

/// Line of a job's search log, replayed on resume (see search/). `kind` is "ask" or "tell";
/// `payload` is JSON. A tell is stored in the same transaction as its trial.
struct LogEntry {
  std::string task_key;
  std::string kind;
  std::string payload;
};

/// Stored trial with its id.
struct Record {
  std::string id;  ///< hash of store, job, candidate and result (identity.h)
  Trial trial;
  std::int64_t job = 0;
};

/// Kind of a query's result.
enum class AnswerKind : std::uint8_t { kHit, kNearMatch, kMiss };
struct Answer {
  AnswerKind kind = AnswerKind::kMiss;
  std::optional<Record> record;
  double expected_slowdown = 1;  ///< near match: against a tuned config, stated bound
  std::string explanation;       ///< the rule and every deciding field; never empty
  /// Best record that was skipped because it calls a library, and the reason; also part of the
  /// explanation.
  std::string skipped_record;
  /// Why there is no hit; kNone for a hit.
  MissCause cause = {};

  /// Sets `skipped_record` and adds the skipped records to the explanation: a record that calls a
  /// library, and records of a plugin's template that is not loaded. Unless the answer is a hit,
  /// they are its cause. Empty arguments: none was skipped.
  void ExplainSkipped(const std::string& library_record, const std::string& not_loaded);
};

/// Pareto front and the records that were skipped.
struct FrontAnswer {
  std::vector<Record> records;  ///< by the first metric
  /// Fastest record that was skipped because it calls a library, if none of `records` beats it, and
  /// the reason.
  std::string skipped_record;
  std::string not_loaded;  ///< why records of a plugin's template are skipped; empty: none are
};

/// Filter for reading trials.
struct TrialFilter {
  std::string workload_key;  ///< empty = any
  std::string target;        ///< canonical text; empty = any
  std::string template_key;  ///< empty = any
  std::optional<Outcome> outcome;
  std::int64_t job = 0;                   ///< 0 = any
  std::optional<int> other_than_codegen;  ///< only trials of other codegen versions
  std::int64_t limit = 0;                 ///< 0 = all
  std::int64_t skip = 0;                  ///< number of first trials to skip; requires a limit
  /// For each verified config only the measurement that counts (Supersedes of records/front), by
  /// value and index of the config; else all trials in the order of insertion.
  bool served = false;
  /// If not null: only trials with valid values and a config in the space of their template, as
  /// building and explaining them requires. `refused` is called for the others.
  const TemplateRegistry* valid_for = nullptr;
  std::function<void(const std::string& why)> refused;  ///< may be empty
};

/// Durability guarantee of Append.
enum class Durability : std::uint8_t {
  /// On the disk. The write lock is released before the wait, so concurrent writers share the
  /// disk's latency. Acknowledged trials survive a power failure.
  kDisk,
  /// On the disk, waiting with the lock held (SQLite's synchronous=FULL). The same guarantee; for
  /// comparison.
  kDiskInTurn,
  /// In the operating system: survives kill -9, but not a power failure (synchronous=NORMAL).
  kSystem,
};

/// Function that returns the reason why the caller cannot use a candidate that calls a library;
/// empty if it can.
using LibraryCallFilter = std::function<std::string(const Candidate&)>;

/// SQLite record store. Any number of readers and one write transaction at a time, across
/// processes. An object is for one thread at a time: a call that writes, or that reads trials or a
/// task's log, fails with kInternal while another thread is in such a call.
class Store {
 public:
  enum class Mode : std::uint8_t { kReadOnly, kReadWrite };
  /// Opens a store; creates the file in kReadWrite mode if it is missing.
  /// Errors: kNotFound (read-only and missing); kCorrupt if it is not a store of this or an older
  /// schema version (a newer one is rejected with its number); kUnavailable if the disk reports an
  /// error; kUnsupported to write on a network file system.
  static Result<Store> Open(const std::string& path, Mode mode);
  /// Opens a database without writers, such as that of an installed package: without locks, and
  /// without trust in its schema.
  /// Errors: as Open.
  static Result<Store> OpenImmutable(const std::string& path);
  /// Opens a mapped file; see OpenImmutable. name: used as its path in messages.
  static Result<Store> OpenMapped(std::shared_ptr<const MappedFile> file, const std::string& name);
  /// Opens a copy of a database's bytes; see OpenImmutable. name: used as its path in messages.
  static Result<Store> OpenImage(std::string_view bytes, const std::string& name);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// Returns the job of this name, finished or not; creates it if it is missing.
  Result<Job> OpenJob(std::string_view name, std::string_view settings, std::uint64_t seed);
  Status FinishJob(std::int64_t job);
  /// Returns all jobs, oldest first.
  Result<std::vector<Job>> Jobs() const;
  /// Stores trials and log entries in one durable transaction: after success they survive kill -9
  /// and power failure (see Durability; the default is kDisk). A trial that is already stored with
  /// the same values is not changed. check: called first while no other process can write; if it
  /// fails, nothing is stored.
  /// Errors: kCorrupt, and nothing is stored, if another row has the id of one; those of `check`.
  Status Append(std::int64_t job, const std::vector<Trial>& trials,
                const std::vector<LogEntry>& log, const std::function<Status()>& check = {});
  void SetDurability(Durability durability);
  Result<std::vector<LogEntry>> Log(std::int64_t job, std::string_view task_key);
  /// Returns the entries of one kind of a job's log, of all tasks and of the job itself, in order.
  Result<std::vector<LogEntry>> LogOfKind(std::int64_t job, std::string_view kind) const;
  Result<std::vector<Record>> Trials(const TrialFilter& filter) const;
  /// Calls `visit` for each trial, for stores that do not fit into memory. Stops at the first error
  /// of `visit` and returns it.
  Status ForEachTrial(const TrialFilter& filter,
                      const std::function<Status(const Record&)>& visit) const;
  Result<std::int64_t> CountTrials(const TrialFilter& filter) const;
  /// Stores the winner of a task's race. ties: configs that the race could not distinguish from it.
  Status StoreBest(std::int64_t job, const Trial& winner, const std::vector<std::int64_t>& ties);
  /// Returns the best config for a workload among servable records (ok, verified, current template
  /// and code generator version); the device is matched by rule, see docs/records.md. Records whose
  /// library is missing are always skipped. library_call_filter: skips further records that call a
  /// library; empty: none. open: of several open tasks of the workload the one whose space a near
  /// hit must be in; null: the one of FindOpenTask.
  Result<Answer> Query(const TemplateRegistry& templates, const Workload& workload,
                       const Target& target, const DeviceFingerprint& device,
                       const LibraryCallFilter& library_call_filter = {},
                       const OpenTask* open = nullptr) const;
  /// Returns the Pareto front of a workload, sorted by the first metric: the records that could be
  /// a hit and have all of the metrics, without those that another one beats in all of them. For a
  /// config that was measured several times the last race counts; noisy trials are excluded.
  Result<FrontAnswer> Front(const TemplateRegistry& templates, const Workload& workload,
                            const Target& target, const DeviceFingerprint& device,
                            const std::vector<std::string>& metrics,
                            const LibraryCallFilter& library_call_filter = {}) const;
  /// Sets a key/value fact of the store: A/A resolution per device, …
  Status SetFact(std::string_view key, std::string_view value);
  Result<std::optional<std::string>> Fact(std::string_view key) const;
  /// Clears the texts that queries have cached. Call it after another process has removed workloads
  /// or targets: their numbers may be reused.
  void ClearTextCache() const;
  /// Runs PRAGMA integrity_check.
  /// Errors: kCorrupt with its output.
  Status Check() const;
  const std::string& path() const;

  struct Impl;  ///< records/ only
  /// Returns the open database, for components of records/ with additional tables.
  static const Database& DatabaseOf(const Store& store);

 private:
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::records
