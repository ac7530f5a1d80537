#include "records/schema.h"

#include <array>
#include <string>

namespace tilewright::records {
namespace {

// "TwRs": tells our files from other SQLite databases (PRAGMA application_id).
constexpr std::int64_t kApplicationId = 0x54775273;

// Entry i brings version i to version i + 1. Entries never change once released; docs/records.md
// describes the tables.
//
// Texts that repeat (workload keys, targets, devices, epilogues) are kept once and numbered, so a
// trial is about 300 bytes. `served_by_value` holds just what may be served, best first: a query
// reads one row of it.
constexpr std::array kMigrations = {
    R"sql(
CREATE TABLE fact (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE workload (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, op TEXT NOT NULL);
CREATE TABLE target (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE device (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE epilogue (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE job (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL,
  seed INTEGER NOT NULL, finished INTEGER NOT NULL DEFAULT 0);
CREATE TABLE trial (
  id TEXT PRIMARY KEY, job INTEGER NOT NULL REFERENCES job(id),
  workload INTEGER NOT NULL REFERENCES workload(id),
  target INTEGER NOT NULL REFERENCES target(id),
  device INTEGER NOT NULL REFERENCES device(id),
  epilogue INTEGER NOT NULL REFERENCES epilogue(id),
  template TEXT NOT NULL, template_version INTEGER NOT NULL, codegen_version INTEGER NOT NULL,
  config_index INTEGER NOT NULL, config TEXT NOT NULL,
  outcome INTEGER NOT NULL, reason TEXT NOT NULL,
  metric TEXT NOT NULL, value REAL NOT NULL, noise REAL NOT NULL, samples BLOB NOT NULL,
  verified INTEGER NOT NULL, max_abs_error REAL NOT NULL,
  build_seconds REAL NOT NULL, run_seconds REAL NOT NULL,
  attempt INTEGER NOT NULL, finished REAL NOT NULL);
CREATE INDEX trial_by_task ON trial (workload, target);
CREATE INDEX trial_by_job ON trial (job);
CREATE INDEX served_by_value ON trial (workload, target, value, config_index)
  WHERE outcome = 0 AND verified = 1;
CREATE TABLE best (
  workload INTEGER NOT NULL, target INTEGER NOT NULL, device INTEGER NOT NULL, job INTEGER NOT NULL,
  trial TEXT NOT NULL REFERENCES trial(id), ties TEXT NOT NULL,
  PRIMARY KEY (workload, target, device, job)) WITHOUT ROWID;
CREATE TABLE log (
  seq INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES job(id), task TEXT NOT NULL,
  kind TEXT NOT NULL, payload TEXT NOT NULL);
CREATE INDEX log_by_task ON log (job, task, seq);
)sql",
    // Records of other programs (AutoTVM logs, TopHub packages). They stand apart from the trials:
    // nothing here was verified, so no query of trials may see it.
    R"sql(
CREATE TABLE imported_source (
  id INTEGER PRIMARY KEY, file TEXT NOT NULL, package TEXT NOT NULL, imported REAL NOT NULL);
CREATE TABLE imported_target (
  id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, canonical TEXT NOT NULL);
CREATE TABLE imported_task (
  id INTEGER PRIMARY KEY, tuple TEXT NOT NULL UNIQUE, name TEXT NOT NULL, workload TEXT NOT NULL);
CREATE INDEX imported_task_by_name ON imported_task (name);
CREATE TABLE imported (
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE,
  task INTEGER NOT NULL REFERENCES imported_task(id),
  target INTEGER NOT NULL REFERENCES imported_target(id),
  source INTEGER NOT NULL REFERENCES imported_source(id), line INTEGER NOT NULL,
  config_index INTEGER NOT NULL, entities TEXT NOT NULL, code_hash TEXT NOT NULL,
  costs BLOB NOT NULL, cost REAL NOT NULL, error INTEGER NOT NULL,
  all_cost REAL NOT NULL, finished REAL NOT NULL, tvm_version TEXT NOT NULL,
  agreement INTEGER NOT NULL, flags INTEGER NOT NULL);
CREATE INDEX imported_by_cost ON imported (task, target, cost, id) WHERE error = 0;
CREATE INDEX imported_by_time ON imported (finished);
)sql",
    // How quiet the machine was while a trial was timed: the share of its samples, below 0 where
    // nobody knows, as of all trials before this.
    R"sql(
ALTER TABLE trial ADD COLUMN quiet REAL NOT NULL DEFAULT -1;
)sql",
};

/// Runs the entries that lead from one version to another, and marks the file.
Status Migrate(const Database& db, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) TW_RETURN_IF_ERROR(db.Execute(kMigrations[i]));
  const std::string marks = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(to);
  return db.Execute(marks.c_str());
}

}  // namespace

Result<std::int64_t> StoreVersion(const Database& db, const std::string& path) {
  auto version = QueryInt(db, "PRAGMA user_version");
  if (!version.ok()) return version.status().WithContext(path);
  auto application = QueryInt(db, "PRAGMA application_id");
  TW_RETURN_IF_ERROR(application);
  auto tables = QueryInt(db, "SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status().WithContext(path);
  if (*application != kApplicationId && (*version != 0 || *tables != 0)) {
    return Corrupt(path + ": an SQLite database, but not a record store");
  }
  if (*version < 0) return Corrupt(path + ": a record store of no schema version there ever was");
  if (*version > SchemaVersion()) {
    return Corrupt(path + ": record store of schema version " + std::to_string(*version) +
                   ", this program knows versions up to " + std::to_string(SchemaVersion()) +
                   "; use a newer tilewright");
  }
  return version;
}

int SchemaVersion() { return static_cast<int>(kMigrations.size()); }

Status MakeTables(const Database& db, int version) {
  TW_CHECK(version >= 1 && version <= SchemaVersion());
  return Migrate(db, 0, static_cast<std::size_t>(version));
}

Status MigrateSchema(const Database& db, const std::string& path) {
  auto version = StoreVersion(db, path);
  TW_RETURN_IF_ERROR(version);
  if (*version == SchemaVersion()) return {};
  auto transaction = Transaction::Begin(db);
  TW_RETURN_IF_ERROR(transaction);
  version = StoreVersion(db, path);  // another process may have been first
  TW_RETURN_IF_ERROR(version);
  TW_RETURN_IF_ERROR(Migrate(db, static_cast<std::size_t>(*version), kMigrations.size()));
  return transaction->Commit();
}

Status CheckSchema(const Database& db, const std::string& path) {
  auto version = StoreVersion(db, path);
  TW_RETURN_IF_ERROR(version);
  if (*version < SchemaVersion()) {
    return Unsupported(path + ": record store of schema version " + std::to_string(*version) +
                       ", expected " + std::to_string(SchemaVersion()) +
                       "; open it for writing once to migrate it");
  }
  return {};
}

}  // namespace tilewright::records
