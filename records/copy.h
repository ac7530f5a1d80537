#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "records/sqlite.h"
#include "records/tables.h"

namespace tilewright::records {

/// Copies trials and what they refer to from an attached store into another one. What the packages
/// and the merging, splitting and pruning of stores have in common.
///
/// Texts are found again or added and numbered anew; a trial keeps its id and every value. A job
/// called N in a store S is called N@S everywhere else, so jobs of two stores are never taken for
/// one, and who measured what stays known.
///
/// The connection has the other store attached as `source`; the caller holds a transaction.
class Copier {
 public:
  /// source_id, own_id: the stores' ids (fact `store_id`); may be empty for stores that have none.
  /// Errors: kInternal for a table of unknown role.
  static Result<Copier> Create(const Database& db, std::string_view source_id,
                               std::string_view own_id);

  /// Which trials: those of a SELECT of ids from `source.trial`.
  Status Choose(const std::string& select);
  /// Takes a trial out of the chosen ones.
  Status Exclude(const std::string& id);
  /// Imported records, by number in the source, that CopyTexts leaves out. Before it.
  Status ExcludeImported(std::int64_t id);

  /// Texts and jobs that the chosen trials use; with `all`, every one there is.
  Status CopyTexts(bool all);
  /// The chosen trials, in the order of task, value and config, whatever their order is in the
  /// source. One that is already there is left as it is.
  Status CopyTrials();
  /// Rows that belong to chosen trials, such as the winners of races. Where both have one, the one
  /// whose trial is newer stays.
  Status CopyTrialDetails();
  /// What the log of the source has beyond this one's, for every job. From an entry on that is no
  /// JSON, the rest of a task's is left out and told to `refused`.
  /// Errors: kCorrupt if one log does not begin with the other.
  Status CopyLogs(const std::function<void(const std::string& why)>& refused);

  /// SHA-256 over every value of the trials of one side that the other side has too: equal on both
  /// sides if and only if nothing was lost or changed.
  struct TrialChecksum {
    std::int64_t trials = 0;
    std::string sha256;
    friend bool operator==(const TrialChecksum&, const TrialChecksum&) = default;
  };
  /// side: "source" (the chosen trials) or "main" (those with the ids of the chosen ones).
  Result<TrialChecksum> ComputeChecksum(std::string_view side) const;
  /// Errors: kCorrupt, naming a trial, if the two proofs differ.
  Result<TrialChecksum> CompareChecksums() const;

 private:
  Copier(const Database& db, std::string_view source_id, std::string_view own_id)
      : db_(&db), source_id_(source_id), own_id_(own_id) {}
  /// SQL for a job's name as this store has it. alias: of the row of `source.job`.
  std::string JobName(std::string_view alias) const;
  /// "list of columns" and the SELECT's "values and joins" of one table of the source.
  struct Columns {
    std::string names, values, joins;
  };
  Columns Mapped(const Table& table, std::string_view alias) const;
  Status CopyText(const Table& table, bool all);
  Status CopyLog(std::int64_t source_job, std::int64_t job, std::string_view task,
                 const std::function<void(const std::string& why)>& refused);
  Status Run(const std::string& sql) const;

  const Database* db_;
  std::string source_id_, own_id_;
  std::vector<Table> source_, own_;
};

/// The id of the store in the attached database `schema`; empty if it has none.
Result<std::string> StoreIdOf(const Database& db, std::string_view schema);

}  // namespace tilewright::records
