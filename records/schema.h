#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "records/sqlite.h"

namespace tilewright::records {

/// Returns the version of the tables, kept in PRAGMA user_version. Each new entry of the migration
/// table in schema.cc raises it by one. A store of a newer version is rejected, an older one is
/// migrated.
int SchemaVersion();

/// Returns the version of a store's tables, 0 for an empty file. schema: of the attached database.
/// Errors: kCorrupt for a newer version, a file that is another SQLite database, or one with other
/// objects than the tables and indices of its version, such as a trigger.
Result<std::int64_t> StoreVersion(const Database& db, const std::string& path,
                                  std::string_view schema = "main");

/// Returns a line for each unexpected, missing or differing object, compared with the tables and
/// indices of the store's version. Empty: no differences.
/// Errors: as StoreVersion, except for foreign objects.
Result<std::vector<std::string>> UnexpectedSchemaObjects(const Database& db,
                                                         const std::string& path);

/// Creates the tables of `version`, 1 to SchemaVersion(), in an empty database.
Status MakeTables(const Database& db, int version);

/// Migrates a store that is open for writing to the current version, in one transaction. Creates
/// the tables of an empty file.
/// Errors: kCorrupt for a newer version or a file that is another SQLite database.
Status MigrateSchema(const Database& db, const std::string& path);

/// Checks a store that is open for reading.
/// Errors: as MigrateSchema; kUnsupported for an older version (open it for writing once).
Status CheckSchema(const Database& db, const std::string& path);

}  // namespace tilewright::records
