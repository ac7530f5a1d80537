#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "records/sqlite.h"
#include "records/tables.h"

namespace tilewright::records {

/// Copier of trials and the rows they refer to, from an attached store into another one. Packages
/// and the merging, splitting and pruning of stores use it.
///
/// Texts are matched by key or added under new numbers. A trial keeps its id and every value. A job
/// N of a store S is named N@S in every other store, so that jobs of two stores stay distinct and
/// the origin of each trial is kept.
///
/// The connection has the other store attached as `source`; the caller holds a transaction.
class Copier {
 public:
  /// source_id, own_id: the stores' ids (fact `store_id`); may be empty for stores without an id.
  /// Errors: kInternal for a table of unknown role.
  static Result<Copier> Create(const Database& db, std::string_view source_id,
                               std::string_view own_id);

  /// Selects the trials to copy. select: SELECT of ids from `source.trial`.
  Status Choose(const std::string& select);
  /// Removes a trial from the selection.
  Status Exclude(const std::string& id);
  /// Excludes an imported record, by its number in the source, from CopyTexts. Call it before
  /// CopyTexts.
  Status ExcludeImported(std::int64_t id);

  /// Selects the imported records to copy by CopyTexts(false). select: SELECT of ids from
  /// `source.imported`. Errors: kInternal if the source has no imported records.
  Status ChooseImported(const std::string& select);

  /// Copies the selected imported records, and the texts and jobs that these and the selected
  /// trials use; with `all`, every imported record, text and job.
  Status CopyTexts(bool all);
  /// Copies the selected trials in the order of task, value and config, independent of their order
  /// in the source. Trials that the store has already are not changed.
  Status CopyTrials();
  /// Copies rows that belong to selected trials, such as the winners of races. If both stores have
  /// one, the row with the newer trial stays.
  Status CopyTrialDetails();
  /// Appends the log entries that only the source has, for every job. From an entry that is not
  /// JSON on, the remaining entries of the task are skipped and `refused` is called with the
  /// reason.
  /// Errors: kCorrupt if neither log is a prefix of the other.
  Status CopyLogs(const std::function<void(const std::string& why)>& refused);

  /// SHA-256 over every value of the trials that both sides have. The checksums are equal if and
  /// only if copying lost and changed nothing.
  struct TrialChecksum {
    std::int64_t trials = 0;
    std::string sha256;
    friend bool operator==(const TrialChecksum&, const TrialChecksum&) = default;
  };
  /// side: "source" (the selected trials) or "main" (those with the same ids).
  Result<TrialChecksum> ComputeChecksum(std::string_view side) const;
  /// Returns the common checksum of both sides.
  /// Errors: kCorrupt, naming a trial, if the checksums differ.
  Result<TrialChecksum> CompareChecksums() const;

 private:
  Copier(const Database& db, std::string_view source_id, std::string_view own_id)
      : db_(&db), source_id_(source_id), own_id_(own_id) {}
  /// Returns SQL for a job's name in this store. alias: of the row of `source.job`.
  std::string JobName(std::string_view alias) const;
  /// Column list, and values and joins of the SELECT, for one table of the source.
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

/// Returns the id of the store in the attached database `schema`; empty if it has none.
Result<std::string> StoreIdOf(const Database& db, std::string_view schema);

}  // namespace tilewright::records
