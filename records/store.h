#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/files/mapped_file.h"
#include "src/base/status.h"
#include "src/space/trial.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

class Database;

/// A tuning job as stored: what was asked for, so that the same command goes on with it.
struct Job {
  std::int64_t id = 0;
  std::string name;      ///< hash of graph, target, settings: finds the job again
  std::string settings;  ///< JSON
  std::uint64_t seed = 0;
  bool finished = false;
};

/// One line of a job's search log, replayed on resume (see search/). `kind` is "ask" or "tell";
/// `payload` is JSON. A tell is stored in the same transaction as its trial.
struct LogEntry {
  std::string task_key;
  std::string kind;
  std::string payload;
};

/// A stored trial.
struct Record {
  std::string id;  ///< hash of store, job, what was measured and what came of it (identity.h)
  Trial trial;
  std::int64_t job = 0;
};

/// How a query was answered.
enum class AnswerKind : std::uint8_t { kHit, kNearMatch, kMiss };
struct Answer {
  AnswerKind kind = AnswerKind::kMiss;
  std::optional<Record> record;
  double expected_slowdown = 1;  ///< near hit: against a tuned config, stated bound
  std::string explanation;       ///< the rule and every field that decided; never empty
  /// The best record left out because it calls a library, and why it may not; part of the
  /// explanation too.
  std::string skipped_record;

  /// Sets `skipped_record`, and says in the explanation what was left out: a record that calls a
  /// library, and those of a plugin's template that is not loaded. Empty: nothing.
  void ExplainSkipped(const std::string& library_record, const std::string& not_loaded);
};

/// A front, and what might have been on it.
struct FrontAnswer {
  std::vector<Record> records;  ///< by the first metric
  /// The fastest record left out because it calls a library, of those that none of `records` beats,
  /// and why it may not.
  std::string skipped_record;
  std::string not_loaded;  ///< why records of a plugin's template are left out; empty: none are
};

/// Filter for reading trials.
struct TrialFilter {
  std::string workload_key;  ///< empty = any
  std::string target;        ///< canonical text; empty = any
  std::string template_key;  ///< empty = any
  std::optional<Outcome> outcome;
  std::int64_t job = 0;                   ///< 0 = any
  std::optional<int> other_than_codegen;  ///< those of other versions of the code alone
  std::int64_t limit = 0;                 ///< 0 = all
  std::int64_t skip = 0;                  ///< so many of the first; with a limit
  /// Of each config that was verified the measurement that counts (Supersedes of records/front), by
  /// value and index of the config; else all in the order of their writing.
  bool served = false;
  /// Not null: those alone whose values make sense and whose config is in the space of their
  /// template, as what builds or explains them needs it; the others are told to `refused`.
  const TemplateRegistry* valid_for = nullptr;
  std::function<void(const std::string& why)> refused;  ///< may be empty
};

/// What Append waits for.
enum class Durability : std::uint8_t {
  /// The disk, after the write lock was given up: processes that write at once share its time. What
  /// was acknowledged survives a power cut.
  kDisk,
  /// The disk, with the lock held (SQLite's synchronous=FULL). Promises the same; for comparison.
  kDiskInTurn,
  /// The system: survives kill -9, but not a power cut (synchronous=NORMAL).
  kSystem,
};

/// Why a candidate that calls a library cannot be used by who asks; empty if it can.
using LibraryCallFilter = std::function<std::string(const Candidate&)>;

/// The SQLite record store. Any number of readers, one write transaction at a time from any
/// process. One is for one thread at a time: a call that writes, or reads trials or a task's log,
/// while another thread is in such a one fails with kInternal.
class Store {
 public:
  enum class Mode : std::uint8_t { kReadOnly, kReadWrite };
  /// Creates the file in kReadWrite mode if it is missing.
  /// Errors: kNotFound (read-only and missing); kCorrupt if it is no store of this schema version
  /// or older (a newer one is refused by number); kUnavailable if the disk refuses;
  /// kUnsupported to write on a network file system.
  static Result<Store> Open(const std::string& path, Mode mode);
  /// Opens a database that nobody writes while it is open, such as an installed package's: no
  /// locks, and nothing in its schema is trusted. Errors: as Open.
  static Result<Store> OpenImmutable(const std::string& path);
  /// As OpenImmutable, from a file that is mapped already. `name` stands for its path.
  static Result<Store> OpenMapped(std::shared_ptr<const MappedFile> file, const std::string& name);
  /// As OpenImmutable, from a copy of a database's bytes. `name` stands for its path.
  static Result<Store> OpenImage(std::string_view bytes, const std::string& name);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// Finds the unfinished or finished job of this name, or makes it.
  Result<Job> OpenJob(std::string_view name, std::string_view settings, std::uint64_t seed);
  Status FinishJob(std::int64_t job);
  /// Every job, the first one first.
  Result<std::vector<Job>> Jobs() const;
  /// Stores trials and log entries in one durable transaction: after ok they survive kill -9 and
  /// power loss (see Durability; kDisk unless SetDurability says otherwise). A trial that is there
  /// already, the same in all that was measured, is left as it is.
  /// Errors: kCorrupt, and nothing is stored, if another row has the id of one.
  Status Append(std::int64_t job, const std::vector<Trial>& trials,
                const std::vector<LogEntry>& log);
  void SetDurability(Durability durability);
  Result<std::vector<LogEntry>> Log(std::int64_t job, std::string_view task_key);
  /// What a job's log has of one kind, of all tasks and of the job itself, in order.
  Result<std::vector<LogEntry>> LogOfKind(std::int64_t job, std::string_view kind) const;
  Result<std::vector<Record>> Trials(const TrialFilter& filter) const;
  /// As Trials, one at a time: for stores that do not fit into memory. Ends with the first status
  /// of `visit` that is not ok, and returns it.
  Status ForEachTrial(const TrialFilter& filter,
                      const std::function<Status(const Record&)>& visit) const;
  Result<std::int64_t> CountTrials(const TrialFilter& filter) const;
  /// Marks the winner of a task's race; ties list the configs that can not be told from it.
  Status StoreBest(std::int64_t job, const Trial& winner, const std::vector<std::int64_t>& ties);
  /// Best config for a workload: served view only (ok, verified, same template and code-generator
  /// version), device matched by rule; see docs/records.md. library_call_filter: whose records
  /// are passed over beside those whose library is not here; empty: no others.
  Result<Answer> Query(const TemplateRegistry& templates, const Workload& workload,
                       const Target& target, const DeviceFingerprint& device,
                       const LibraryCallFilter& library_call_filter = {}) const;
  /// The records of a workload that could be a hit, know all of the metrics, and are beaten by no
  /// other one in all of them, by the first metric. Of a config that was measured several times the
  /// last race counts; what was measured in noise does not.
  Result<FrontAnswer> Front(const TemplateRegistry& templates, const Workload& workload,
                            const Target& target, const DeviceFingerprint& device,
                            const std::vector<std::string>& metrics,
                            const LibraryCallFilter& library_call_filter = {}) const;
  /// Key/value facts of the store: A/A resolution per device, canary rate, …
  Status SetFact(std::string_view key, std::string_view value);
  Result<std::optional<std::string>> Fact(std::string_view key) const;
  /// Drops what queries have kept of the store. Needed after another process has removed workloads
  /// or targets: their numbers may then stand for others.
  void ClearTextCache() const;
  /// PRAGMA integrity_check. Errors: kCorrupt with its words.
  Status Check() const;
  const std::string& path() const;

  struct Impl;  ///< records/ only
  /// The open database, for the parts of records/ that keep tables of their own.
  static const Database& DatabaseOf(const Store& store);

 private:
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright::records
