// Tables and migrations: each migration brings a store from one version to the next. A store with
// anything but the tables of its version (a trigger, say) is rejected.

#include "records/schema.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "records/image.h"
#include "src/base/files/file_kind.h"
#include "src/base/printable.h"

namespace tilewright::records {
namespace {

// "TwRs": distinguishes record stores from other SQLite databases (PRAGMA application_id).
constexpr std::int64_t kApplicationId = 0x54775273;

// Entry i brings version i to version i + 1. Entries never change once released; docs/records.md
// describes the tables.
//
// Texts that repeat (workload keys, targets, devices, epilogues) are stored once and numbered, so a
// trial is about 300 bytes. `served_by_value` contains only servable trials, best first: a query
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
    // Records of other programs (AutoTVM logs, TopHub packages). They are in separate tables,
    // because they are unverified and no query of trials may return them.
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
    // Clean fraction of a trial's samples; below 0 if unknown, as in all trials of earlier
    // versions.
    R"sql(
ALTER TABLE trial ADD COLUMN quiet REAL NOT NULL DEFAULT -1;
)sql",
    // Prediction of the search's cost model before the measurement; null without a prediction, as
    // in all trials of earlier versions.
    R"sql(
ALTER TABLE trial ADD COLUMN predicted REAL;
)sql",
    // Additional metrics of the same run, a JSON object of numbers by metric; empty if the job
    // requested one metric, as all jobs of earlier versions did.
    R"sql(
ALTER TABLE trial ADD COLUMN others TEXT NOT NULL DEFAULT '';
)sql",
};

/// Runs the migrations from one version to another and sets the version of the file.
Status Migrate(const Database& db, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) TW_RETURN_IF_ERROR(db.Execute(kMigrations[i]));
  const std::string marks = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(to);
  return db.Execute(marks.c_str());
}

/// Objects of a database: the table and the SQL of each, by type and name.
using SchemaParts = std::map<std::pair<std::string, std::string>, std::string>;

Result<SchemaParts> PartsOf(const Database& db, std::string_view schema) {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(db, "SELECT type, name, tbl_name || ' ' || ifnull(sql, '') FROM " +
                                 std::string(schema) + ".sqlite_schema"));
  SchemaParts parts;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return parts;
    std::string& text = parts[{std::string(query.Text(0)), std::string(query.Text(1))}];
    if (!text.empty()) text += " and another of this name\n";
    text += query.Text(2);
  }
}

/// Returns the objects of every version, created by its migrations.
Result<std::vector<SchemaParts>> MakeExpectedParts() {
  std::vector<SchemaParts> versions(1);
  TW_ASSIGN_OR_RETURN(auto db, OpenMemory());
  for (std::size_t i = 0; i < kMigrations.size(); ++i) {
    TW_RETURN_IF_ERROR(Migrate(db, i, i + 1));
    TW_ASSIGN_OR_RETURN(auto parts, PartsOf(db, "main"));
    versions.push_back(std::move(parts));
  }
  return versions;
}

/// Formats a schema object for display.
std::string PartText(const std::pair<std::string, std::string>& part) {
  constexpr std::size_t kShown = 40;
  return Printable(part.first.substr(0, kShown)) + " '" + Printable(part.second.substr(0, kShown)) +
         "'";
}

/// Returns true for the table that ANALYZE creates; it only affects SQLite's choice of indices.
bool IsStatistics(const SchemaParts::key_type& part, std::string_view sql) {
  return part == SchemaParts::key_type("table", "sqlite_stat1") &&
         sql == "sqlite_stat1 CREATE TABLE sqlite_stat1(tbl,idx,stat)";
}

/// Returns the unexpected objects in a store of this version, a line for each.
Result<std::vector<std::string>> CompareParts(const Database& db, std::string_view schema,
                                              std::int64_t version) {
  static const Result<std::vector<SchemaParts>> kExpected = MakeExpectedParts();
  TW_RETURN_IF_ERROR(kExpected);
  const SchemaParts& expected = (*kExpected)[static_cast<std::size_t>(version)];
  TW_ASSIGN_OR_RETURN(auto seen, PartsOf(db, schema));
  std::vector<std::string> lines;
  for (const auto& [part, sql] : seen) {
    if (IsStatistics(part, sql)) continue;
    const auto ours = expected.find(part);
    if (ours == expected.end()) {
      lines.push_back("has the " + PartText(part) + ", which is not part of a record store");
    } else if (ours->second != sql) {
      lines.push_back("its " + PartText(part) + " is not that of a record store");
    }
  }
  for (const auto& [part, sql] : expected) {
    if (!seen.contains(part)) lines.push_back("lacks the " + PartText(part));
  }
  // Indices follow from tables, so other objects are listed first.
  std::ranges::stable_partition(lines, [](const std::string& line) {
    return line.find("'sqlite_autoindex_") == std::string::npos;
  });
  std::ranges::stable_partition(lines, [](const std::string& line) {
    return line.starts_with("has the trigger") || line.starts_with("has the view");
  });
  return lines;
}

/// Read transaction over several statements.
class OneRead {
 public:
  static Result<OneRead> Begin(const Database& db) {
    TW_RETURN_IF_ERROR(db.Execute("SAVEPOINT one_read"));
    return OneRead(db);
  }
  OneRead(OneRead&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  OneRead& operator=(OneRead&&) = delete;
  ~OneRead() {
    if (db_ == nullptr) return;
    const Status ignored = db_->Execute("RELEASE one_read");  // a read has no changes
    (void)ignored;
  }

 private:
  explicit OneRead(const Database& db) : db_(&db) {}
  const Database* db_;
};

/// Returns the version stored in the file.
Result<std::int64_t> MarkedVersion(const Database& db, const std::string& path,
                                   std::string_view schema) {
  const std::string at(schema);
  auto version = QueryInt(db, "PRAGMA " + at + ".user_version");
  if (!version.ok()) return version.status().WithContext(path);
  TW_ASSIGN_OR_RETURN(auto application, QueryInt(db, "PRAGMA " + at + ".application_id"));
  auto tables = QueryInt(db, "SELECT count(*) FROM " + at + ".sqlite_schema");
  if (!tables.ok()) return tables.status().WithContext(path);
  if (application != kApplicationId && (*version != 0 || *tables != 0)) {
    return Corrupt(path + ": an SQLite database, but not a record store");
  }
  if (*version < 0) return Corrupt(path + ": a record store of an unknown schema version");
  if (*version > SchemaVersion()) {
    return Corrupt(path + ": record store of schema version " + std::to_string(*version) +
                   ", this program supports versions up to " + std::to_string(SchemaVersion()) +
                   "; use a newer tilewright");
  }
  return version;
}

/// Names the kind of a file that is not a database. Other files are not read: closing one drops the
/// locks that this process has on it.
Status NotAStore(const Database& db, Status error, const std::string& path) {
  if ((sqlite3_errcode(db.get()) & 0xff) != SQLITE_NOTADB) return error;
  return ExplainWrongFile(std::move(error), IdentifyFile(path), path, {"a record store"});
}

}  // namespace

Result<std::int64_t> StoreVersion(const Database& db, const std::string& path,
                                  std::string_view schema) {
  const auto read = OneRead::Begin(db);
  if (!read.ok()) return read.status().WithContext(path);
  auto marked = MarkedVersion(db, path, schema);
  if (!marked.ok()) return NotAStore(db, marked.status(), path);
  const std::int64_t version = *marked;
  auto foreign = CompareParts(db, schema, version);
  if (!foreign.ok()) return foreign.status().WithContext(path);
  if (foreign->empty()) return version;
  return Corrupt(path + ": " + foreign->front() + "; the store is not used" +
                 (foreign->size() > 1 ? " (`tilewright records check` lists " +
                                            std::to_string(foreign->size() - 1) + " more)"
                                      : ""));
}

Result<std::vector<std::string>> UnexpectedSchemaObjects(const Database& db,
                                                         const std::string& path) {
  const auto read = OneRead::Begin(db);
  if (!read.ok()) return read.status().WithContext(path);
  TW_ASSIGN_OR_RETURN(auto version, MarkedVersion(db, path, "main"));
  return CompareParts(db, "main", version);
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
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(db));
  version = StoreVersion(db, path);  // another process may have migrated it
  TW_RETURN_IF_ERROR(version);
  TW_RETURN_IF_ERROR(Migrate(db, static_cast<std::size_t>(*version), kMigrations.size()));
  return transaction.Commit();
}

Status CheckSchema(const Database& db, const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto version, StoreVersion(db, path));
  if (version < SchemaVersion()) {
    return Unsupported(path + ": record store of schema version " + std::to_string(version) +
                       ", expected " + std::to_string(SchemaVersion()) +
                       "; open it for writing once to migrate it");
  }
  return {};
}

}  // namespace tilewright::records
