#include "records/open/job_tail.h"

#include <sqlite3.h>

#include <utility>

#include "records/sqlite.h"

namespace tilewright::records {

Result<std::vector<NumberedEntry>> LogAfter(const Store& store, std::int64_t job,
                                            std::string_view task_key, std::int64_t after) {
  TW_ASSIGN_OR_RETURN(auto query,
                      Statement::Prepare(Store::DatabaseOf(store),
                                         "SELECT seq, task, kind, payload FROM log WHERE job = ?1"
                                         " AND task = ?2 AND seq > ?3 ORDER BY seq"));
  query.Bind(1, job).Bind(2, task_key).Bind(3, after);
  std::vector<NumberedEntry> entries;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return entries;
    entries.push_back(
        {query.Int(0),
         {std::string(query.Text(1)), std::string(query.Text(2)), std::string(query.Text(3))}});
  }
}

Result<std::vector<NumberedEntry>> AppendAfter(
    const Store& store, std::int64_t job, std::string_view task_key, std::int64_t after,
    const std::function<std::optional<LogEntry>(const std::vector<NumberedEntry>&)>& make) {
  const Database& db = Store::DatabaseOf(store);
  TW_RETURN_IF_ERROR(db.Execute("PRAGMA synchronous = NORMAL"));
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(db));
  TW_ASSIGN_OR_RETURN(auto entries, LogAfter(store, job, task_key, after));
  std::optional<LogEntry> entry = make(entries);
  if (!entry.has_value()) return entries;
  TW_ASSIGN_OR_RETURN(
      auto insert,
      Statement::Prepare(db, "INSERT INTO log (job, task, kind, payload) VALUES (?1, ?2, ?3, ?4)"));
  insert.Bind(1, job).Bind(2, entry->task_key).Bind(3, entry->kind).Bind(4, entry->payload);
  TW_RETURN_IF_ERROR(insert.Run());
  const std::int64_t number = sqlite3_last_insert_rowid(db.get());
  TW_RETURN_IF_ERROR(transaction.Commit());
  entries.push_back({number, *std::move(entry)});
  return entries;
}

}  // namespace tilewright::records
