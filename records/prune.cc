#include "records/copy.h"
#include "records/image.h"
#include "records/maintenance.h"
#include "records/select.h"
#include "records/tables.h"
#include "src/base/files/file.h"

namespace tilewright::records {
namespace {

/// Adds what `select` names to temp.kept. returns how many it names, kept already or not.
Result<std::int64_t> Keep(const Database& db, const std::string& select) {
  const Status kept = db.Execute(("INSERT OR IGNORE INTO temp.kept " + select).c_str());
  TW_RETURN_IF_ERROR(kept);
  return QueryInt(db, "SELECT count(*) FROM (" + select + ")");
}

Status ChooseKept(const TemplateRegistry& templates, const Database& db,
                  const PruneOptions& options, PruneReport& report) {
  TW_RETURN_IF_ERROR(FindCurrent(templates, db, "main"));
  TW_RETURN_IF_ERROR(
      db.Execute("DROP TABLE IF EXISTS temp.kept; CREATE TEMP TABLE kept (id TEXT PRIMARY KEY)"
                 " WITHOUT ROWID"));
  const std::string best =
      "SELECT id FROM (SELECT id, rank() OVER (PARTITION BY workload, target, device, verified,"
      " (template, template_version, codegen_version) IN (SELECT * FROM temp.current)"
      " ORDER BY value) AS place FROM trial WHERE outcome = 0) WHERE place <= " +
      std::to_string(options.best) + " UNION SELECT id FROM temp.front";
  const std::string training =
      options.training < 0
          ? "SELECT id FROM trial"
          : "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY workload, target"
            " ORDER BY id) AS place FROM trial) WHERE place <= " +
                std::to_string(options.training);
  const std::string unfinished =
      "SELECT id FROM trial WHERE job IN (SELECT id FROM job WHERE NOT finished)";
  for (const auto& [select, out] :
       {std::pair(best, &report.kept_best), std::pair(SelectRaced("main"), &report.kept_raced),
        std::pair(training, &report.kept_training),
        std::pair(unfinished, &report.kept_unfinished)}) {
    TW_ASSIGN_OR_RETURN(auto count, Keep(db, select));
    *out = count;
  }
  return {};
}

}  // namespace

Result<PruneReport> PruneStore(const TemplateRegistry& templates, const std::string& path,
                               const PruneOptions& options) {
  if (options.best < 1) return InvalidArgument("prune keeps at least the best trial of each task");
  if (!FileExists(path)) return NotFound(path + ": no such record store");
  {
    auto store = Store::Open(path, Store::Mode::kReadWrite);  // migrates it
    TW_RETURN_IF_ERROR(store);
  }
  TW_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Mode::kReadWriteCreate));
  TW_RETURN_IF_ERROR(db.Execute("PRAGMA synchronous = FULL"));
  TW_ASSIGN_OR_RETURN(auto tables, ReadTables(db, "main"));
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(db));
  PruneReport report;
  TW_RETURN_IF_ERROR(ChooseKept(templates, db, options, report));
  TW_ASSIGN_OR_RETURN(auto trials, QueryInt(db, "SELECT count(*) FROM trial"));
  TW_ASSIGN_OR_RETURN(auto kept, QueryInt(db, "SELECT count(*) FROM temp.kept"));
  report.trials = trials;
  report.removed = trials - kept;
  if (options.dry_run) return report;
  for (const Table& table : tables) {
    if (table.role != TableRole::kTrialDetail) continue;
    TW_RETURN_IF_ERROR(db.Execute(("DELETE FROM " + table.name + " WHERE " + table.trial_column +
                                   " NOT IN (SELECT id FROM temp.kept)")
                                      .c_str()));
  }
  TW_RETURN_IF_ERROR(db.Execute("DELETE FROM trial WHERE id NOT IN (SELECT id FROM temp.kept)"));
  // Texts stay: other programs that have the store open may have their numbers in mind.
  TW_ASSIGN_OR_RETURN(auto left, QueryInt(db, "SELECT count(*) FROM trial"));
  if (left != kept) return Internal(path + ": pruning went wrong; nothing was removed");
  TW_RETURN_IF_ERROR(transaction.Commit());
  return report;
}

Result<VacuumReport> VacuumStore(const std::string& path, const std::string& into) {
  if (!FileExists(path)) return NotFound(path + ": no such record store");
  if (!into.empty() && FileExists(into)) return InvalidArgument(into + ": exists");
  const auto bytes = [](const std::string& file) -> Result<std::int64_t> {
    TW_ASSIGN_OR_RETURN(auto db, Database::Open(file, Database::Mode::kReadOnly));
    return QueryInt(db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  };
  VacuumReport report;
  auto before = bytes(path);
  if (!before.ok()) return before.status().WithContext(path);
  report.bytes_before = *before;
  if (into.empty()) {
    TW_ASSIGN_OR_RETURN(const auto store, Store::Open(path, Store::Mode::kReadWrite));
    TW_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Mode::kReadWriteCreate));
    TW_RETURN_IF_ERROR(db.Execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"));
  } else {
    TW_ASSIGN_OR_RETURN(const auto store, Store::Open(path, Store::Mode::kReadOnly));
    TW_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Mode::kReadOnly));
    TW_ASSIGN_OR_RETURN(auto copy, Statement::Prepare(db, "VACUUM INTO ?1"));
    const Status copied = copy.Bind(1, into).Run();
    if (!copied.ok()) return copied.WithContext(into);
  }
  TW_ASSIGN_OR_RETURN(report.bytes_after, bytes(into.empty() ? path : into));
  return report;
}

}  // namespace tilewright::records
