#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "records/sqlite.h"

namespace tilewright::records {

/// Role of a table when rows are copied between stores.
enum class TableRole : std::uint8_t {
  kFact,         ///< key/value facts of one store
  kText,         ///< numbered rows (workload, target, device, …), matched by `key`
  kJob,          ///< the numbered texts `job`, made unique by the store id
  kTrial,        ///< the trials
  kTrialDetail,  ///< rows that belong to one trial, such as `best`
  kLog,          ///< the search logs, in order within a job
};

/// Column that contains the number of a row of another table.
struct Reference {
  std::string column, table;
};

/// Table as read from its database: copying follows the actual schema.
struct Table {
  std::string name;
  TableRole role = TableRole::kText;
  std::vector<std::string> columns;
  std::vector<Reference> references;  ///< to tables of role kText and kJob
  /// kText, kJob: the columns that identify a row in another store: the unique one, or else all but
  /// the number.
  std::vector<std::string> key;
  std::string trial_column;  ///< kTrialDetail: the column with the trial's id
};

/// Reads the tables of the attached database `schema` ("main", "source"), referenced tables first.
/// Errors: kInternal for a table whose role its columns do not determine: code that copies stores
/// must support the table first, or its rows would be lost.
Result<std::vector<Table>> ReadTables(const Database& db, std::string_view schema);

/// Returns SQL for the key of a row of a numbered table. alias: of the row.
std::string KeyOf(const Table& table, std::string_view alias);

/// Returns the table of this name; null if it is missing.
const Table* FindTable(const std::vector<Table>& tables, std::string_view name);

}  // namespace tilewright::records
