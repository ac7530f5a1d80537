#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/space/trial.h"

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
  std::string id;  ///< hash of store, device, job, task, config, attempt
  Trial trial;
  std::int64_t job = 0;
};

/// How a query was answered.
enum class AnswerKind : std::uint8_t { kHit, kNearHit, kMiss };
struct Answer {
  AnswerKind kind = AnswerKind::kMiss;
  std::optional<Record> record;
  double expected_slowdown = 1;  ///< near hit: against a tuned config, stated bound
  std::string explanation;       ///< the rule and every field that decided; never empty
};

/// Filter for reading trials.
struct TrialFilter {
  std::string workload_key;  ///< empty = any
  std::string target;        ///< canonical text; empty = any
  std::string template_key;  ///< empty = any
  std::optional<Outcome> outcome;
  std::int64_t job = 0;    ///< 0 = any
  std::int64_t limit = 0;  ///< 0 = all
};

/// The SQLite record store. Any number of readers, one write transaction at a time from any
/// process.
class Store {
 public:
  enum class Mode : std::uint8_t { kReadOnly, kReadWrite };
  /// Creates the file in kReadWrite mode if it is missing.
  /// Errors: kNotFound (read-only and missing); kCorrupt if it is no store of this schema version
  /// or older (a newer one is refused by number); kUnavailable if the disk refuses.
  static Result<Store> Open(const std::string& path, Mode mode);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// Finds the unfinished or finished job of this name, or makes it.
  Result<Job> OpenJob(std::string_view name, std::string_view settings, std::uint64_t seed);
  Status FinishJob(std::int64_t job);
  /// Stores trials and log entries in one durable transaction (synchronous=FULL): after ok they
  /// survive kill -9 and power loss. A trial already there (same id) is left as it is.
  Status Append(std::int64_t job, const std::vector<Trial>& trials,
                const std::vector<LogEntry>& log);
  Result<std::vector<LogEntry>> Log(std::int64_t job, std::string_view task_key);
  Result<std::vector<Record>> Trials(const TrialFilter& filter) const;
  Result<std::int64_t> CountTrials(const TrialFilter& filter) const;
  /// Marks the winner of a task's race; ties list the configs that can not be told from it.
  Status StoreBest(std::int64_t job, const Trial& winner, const std::vector<std::int64_t>& ties);
  /// Best config for a workload: served view only (ok, verified, same template and code-generator
  /// version), device matched by rule; see docs/records.md.
  Result<Answer> Query(const Workload& workload, const Target& target,
                       const DeviceFingerprint& device) const;
  /// Key/value facts of the store: A/A resolution per device, canary rate, …
  Status SetFact(std::string_view key, std::string_view value);
  Result<std::optional<std::string>> Fact(std::string_view key) const;
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
