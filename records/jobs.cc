#include <string>

#include "records/sqlite.h"
#include "records/store.h"
#include "records/store_impl.h"

namespace tilewright::records {
namespace {

/// Returns the job in a row of (id, name, settings, seed, finished).
Job JobOf(const Statement& row) {
  return {row.Int(0), std::string(row.Text(1)), std::string(row.Text(2)),
          static_cast<std::uint64_t>(row.Int(3)), row.Int(4) != 0};
}

/// Reads the remaining rows of a query for (task, kind, payload).
Result<std::vector<LogEntry>> Entries(Statement& query) {
  std::vector<LogEntry> entries;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return entries;
    entries.push_back(
        {std::string(query.Text(0)), std::string(query.Text(1)), std::string(query.Text(2))});
  }
}

}  // namespace

Result<Job> Store::OpenJob(std::string_view name, std::string_view settings, std::uint64_t seed) {
  const StoreUseGuard use(*impl_);
  TW_RETURN_IF_ERROR(use.status());
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(impl_->db));
  TW_ASSIGN_OR_RETURN(
      auto insert,
      Statement::Prepare(impl_->db,
                         "INSERT OR IGNORE INTO job (name, settings, seed) VALUES (?1, ?2, ?3)"));
  insert.Bind(1, name).Bind(2, settings).Bind(3, static_cast<std::int64_t>(seed));
  TW_RETURN_IF_ERROR(insert.Run());
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(impl_->db,
                         "SELECT id, name, settings, seed, finished FROM job WHERE name = ?1"));
  query.Bind(1, name);
  TW_RETURN_IF_ERROR(query.Step());
  Job job = JobOf(query);
  query.Reset();
  TW_RETURN_IF_ERROR(transaction.Commit());
  return job;
}

Status Store::FinishJob(std::int64_t job) {
  const StoreUseGuard use(*impl_);
  TW_RETURN_IF_ERROR(use.status());
  TW_ASSIGN_OR_RETURN(auto update,
                      Statement::Prepare(impl_->db, "UPDATE job SET finished = 1 WHERE id = ?1"));
  return update.Bind(1, job).Run();
}

Result<std::vector<Job>> Store::Jobs() const {
  TW_ASSIGN_OR_RETURN(
      auto query, Statement::Prepare(
                      impl_->db, "SELECT id, name, settings, seed, finished FROM job ORDER BY id"));
  std::vector<Job> jobs;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return jobs;
    jobs.push_back(JobOf(query));
  }
}

Result<std::vector<LogEntry>> Store::Log(std::int64_t job, std::string_view task_key) {
  const StoreUseGuard use(*impl_);
  TW_RETURN_IF_ERROR(use.status());
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(
          impl_->db,
          "SELECT task, kind, payload FROM log WHERE job = ?1 AND task = ?2 ORDER BY seq"));
  query.Bind(1, job).Bind(2, task_key);
  return Entries(query);
}

Result<std::vector<LogEntry>> Store::LogOfKind(std::int64_t job, std::string_view kind) const {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(
          impl_->db,
          "SELECT task, kind, payload FROM log WHERE job = ?1 AND kind = ?2 ORDER BY seq"));
  query.Bind(1, job).Bind(2, kind);
  return Entries(query);
}

}  // namespace tilewright::records
