// Invariants of a record store beyond SQLite's: rows by the rules of
// records/validation/row_validator.h, texts of schedules, winners of races, logs, and the
// write-ahead log, in which SQLite ignores damage.

#include <algorithm>

#include "records/image.h"
#include "records/maintenance.h"
#include "records/schema.h"
#include "records/validation/row_validator.h"
#include "records/validation/wal.h"
#include "src/base/files/file.h"
#include "src/base/json.h"

namespace tilewright::records {
namespace {

/// Collector of problems up to a limit.
class Problems {
 public:
  explicit Problems(std::size_t limit) : limit_(limit) {}
  void Add(std::string line) {
    if (!full()) lines_.push_back(std::move(line));
  }
  bool full() const { return lines_.size() >= limit_; }
  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  std::size_t limit_;
  std::vector<std::string> lines_;
};

/// Adds every row of a statement as a problem, with its columns after `what`.
Status AddRows(const Database& db, const char* sql, const std::string& what, Problems& problems) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, sql));
  while (!problems.full()) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) break;
    if (query.Text(0) != "ok") problems.Add(what + std::string(query.Text(0)));
  }
  return {};
}

Status CheckTrials(const TemplateRegistry& templates, const Database& db, Problems& problems) {
  TW_ASSIGN_OR_RETURN(auto inspector, RowValidator::Create(templates, db, "main"));
  for (const auto& [key, why] : inspector.invalid_texts()) problems.Add(key + ": " + why);
  return inspector.ForEachInvalid({}, [&](const std::string& id, const std::string& why) {
    problems.Add("trial " + id + ": " + why);
    return !problems.full();
  });
}

Status CheckImported(const Database& db, Problems& problems) {
  return ForEachInvalidImported(db, "main", [&](std::int64_t id, const std::string& why) {
    problems.Add("imported record " + std::to_string(id) + ": " + why);
    return !problems.full();
  });
}

Status CheckLog(const Database& db, Problems& problems) {
  TW_ASSIGN_OR_RETURN(auto query,
                      Statement::Prepare(db, "SELECT seq, payload FROM log ORDER BY seq"));
  while (!problems.full()) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) break;
    auto json = ParseJson(query.Text(1));
    if (!json.ok()) {
      problems.Add("log entry " + std::to_string(query.Int(0)) + ": " + json.status().message());
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> CheckStore(const TemplateRegistry& templates,
                                            const std::string& path, std::size_t limit) {
  if (!FileExists(path)) return NotFound(path + ": no such record store");
  // Before the database is opened: SQLite takes damage for the end of the log.
  TW_ASSIGN_OR_RETURN(auto damage, FindWalDamage(path));
  TW_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Mode::kReadOnly));
  TW_ASSIGN_OR_RETURN(auto foreign, UnexpectedSchemaObjects(db, path));
  if (!foreign.empty()) {  // reading its rows could run foreign SQL
    foreign.resize(std::min(limit, foreign.size()));
    return foreign;
  }
  // A store of an older schema is checked in its version.
  TW_ASSIGN_OR_RETURN(auto version, StoreVersion(db, path));
  if (version == 0) return Corrupt(path + ": an empty file, not a record store");
  Problems problems(limit);
  if (!damage.empty()) problems.Add(damage);
  Status status = AddRows(db, "PRAGMA integrity_check", "database: ", problems);
  // Rows of a damaged database are meaningless.
  if (status.ok() && !problems.full()) {
    status = AddRows(db,
                     "SELECT \"table\" || ' row ' || ifnull(rowid, '?') || ' refers to a ' ||"
                     " parent || ' that is not there' FROM pragma_foreign_key_check",
                     "", problems);
  }
  if (status.ok()) {
    status = AddRows(db,
                     "SELECT b.trial FROM best b LEFT JOIN trial t ON t.id = b.trial AND"
                     " t.workload = b.workload AND t.target = b.target AND t.device = b.device AND"
                     " t.job = b.job WHERE t.id IS NULL",
                     "winner of a race that is not a trial of its task: ", problems);
  }
  if (status.ok()) status = CheckTrials(templates, db, problems);
  if (status.ok()) status = CheckImported(db, problems);
  if (status.ok()) status = CheckLog(db, problems);
  std::vector<std::string> lines = problems.Take();
  if (!status.ok()) {
    if (lines.empty() && status.code() != StatusCode::kCorrupt) return status.WithContext(path);
    lines.push_back(status.message());
  }
  return lines;
}

}  // namespace tilewright::records
