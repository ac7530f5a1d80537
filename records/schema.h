#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "records/sqlite.h"

namespace tilewright::records {

/// Version of the tables, kept in PRAGMA user_version. Raised by one with each new entry of the
/// migration table in schema.cc; a store of a newer version is refused, an older one is migrated.
int SchemaVersion();

/// Version of a store's tables, 0 for an empty file. schema: of the attached database.
/// Errors: kCorrupt for a newer version, a file that is some other SQLite database, or one that
/// holds other things than the tables and indices of its version, such as a trigger.
Result<std::int64_t> StoreVersion(const Database& db, const std::string& path,
                                  std::string_view schema = "main");

/// What a store holds beside the tables and indices of its version, which of them it lacks, and
/// which are not as they should be; a line for each. Empty: nothing.
/// Errors: as StoreVersion, but for what is foreign.
Result<std::vector<std::string>> UnexpectedSchemaObjects(const Database& db,
                                                         const std::string& path);

/// Makes the tables of `version`, 1 to SchemaVersion(), in an empty database.
Status MakeTables(const Database& db, int version);

/// Brings a store that is open for writing to the current version, in one transaction; makes the
/// tables of an empty file.
/// Errors: kCorrupt for a newer version or a file that is some other SQLite database.
Status MigrateSchema(const Database& db, const std::string& path);

/// Checks a store that is open for reading.
/// Errors: as MigrateSchema; kUnsupported for an older version (open it for writing once).
Status CheckSchema(const Database& db, const std::string& path);

}  // namespace tilewright::records
