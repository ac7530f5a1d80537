#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "records/sqlite.h"

namespace tilewright::records {

/// What a table of a record store is for, as far as copying rows between stores goes.
enum class TableRole : std::uint8_t {
  kFact,         ///< key/value facts of one store
  kText,         ///< numbered rows (workload, target, device, …), known again by `key`
  kJob,          ///< the numbered texts `job`, whose names are made unique by their store
  kTrial,        ///< the trials
  kTrialDetail,  ///< rows that belong to one trial, such as `best`
  kLog,          ///< the searches' logs, in order within a job
};

/// A column that holds the number of a row of another table.
struct Reference {
  std::string column, table;
};

/// One table, as read from its database: copying follows the schema there is.
struct Table {
  std::string name;
  TableRole role = TableRole::kText;
  std::vector<std::string> columns;
  std::vector<Reference> references;  ///< to tables of role kText and kJob
  /// kText, kJob: the columns by which a row is known again in another store: the one that is
  /// unique, or else all but the number.
  std::vector<std::string> key;
  std::string trial_column;  ///< kTrialDetail: the one with the trial's id
};

/// The tables of the attached database `schema` ("main", "source"), those that others refer to
/// first.
/// Errors: kInternal for a table whose role cannot be told from its columns: what copies stores
///         must be taught about it first, or it would lose its rows.
Result<std::vector<Table>> ReadTables(const Database& db, std::string_view schema);

/// SQL for the key of a row of a numbered table. alias: of the row.
std::string KeyOf(const Table& table, std::string_view alias);

/// The table of this name; null if there is none.
const Table* FindTable(const std::vector<Table>& tables, std::string_view name);

}  // namespace tilewright::records
