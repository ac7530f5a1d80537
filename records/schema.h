#pragma once

#include "records/sqlite.h"

namespace tilewright::records {

/// Version of the tables, kept in PRAGMA user_version. Raised by one with each new entry of the
/// migration table in schema.cc; a store of a newer version is refused, an older one is migrated.
int SchemaVersion();

/// Brings a store that is open for writing to the current version, in one transaction; makes the
/// tables of an empty file.
/// Errors: kCorrupt for a newer version or a file that is some other SQLite database.
Status MigrateSchema(const Database& db, const std::string& path);

/// Checks a store that is open for reading.
/// Errors: as MigrateSchema; kUnsupported for an older version (open it for writing once).
Status CheckSchema(const Database& db, const std::string& path);

}  // namespace tilewright::records
