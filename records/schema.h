#pragma once

#include <cstdint>
#include <string>

#include "records/sqlite.h"

namespace tilewright::records {

/// Version of the tables, kept in PRAGMA user_version. Raised by one with each new entry of the
/// migration table in schema.cc; a store of a newer version is refused, an older one is migrated.
int SchemaVersion();

/// Version of a store's tables, 0 for an empty file.
/// Errors: kCorrupt for a newer version or a file that is some other SQLite database.
Result<std::int64_t> StoreVersion(const Database& db, const std::string& path);

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
