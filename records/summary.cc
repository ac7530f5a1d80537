#include <sys/stat.h>

#include "records/copy.h"
#include "records/image.h"
#include "records/maintenance.h"
#include "records/row.h"
#include "records/schema.h"
#include "records/select.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright::records {
namespace {

Status SummarizeTasks(const Database& db, StoreSummary& summary) {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(
          db,
          "SELECT w.key, g.text, d.text, t.outcome, count(*),"
          " sum(t.outcome = 0 AND t.verified = 1),"
          " min(CASE WHEN t.outcome = 0 AND t.verified = 1 AND t.value > 0 AND t.value < 9e999"
          " AND (t.template, t.template_version, t.codegen_version) IN (SELECT * FROM"
          " temp.current) THEN t.value END),"
          " max(CASE WHEN json_valid(j.settings) THEN json_extract(j.settings, '$.graph') END),"
          " sum(t.attempt > 0), sum(t.attempt < 0)"
          " FROM trial t JOIN workload w ON w.id = t.workload JOIN target g ON g.id = t.target"
          " JOIN device d ON d.id = t.device LEFT JOIN job j ON j.id = t.job"
          " GROUP BY t.workload, t.target, t.device, t.outcome ORDER BY 1, 2, 3, 4"));
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return {};
    auto device = DeviceFingerprint::Parse(query.Text(2));
    const std::string model = device.ok() ? device->model : std::string(query.Text(2));
    TaskSummary* task = summary.tasks.empty() ? nullptr : &summary.tasks.back();
    if (task == nullptr || task->workload_key != query.Text(0) || task->target != query.Text(1) ||
        task->device != model) {
      task = &summary.tasks.emplace_back();
      task->workload_key = query.Text(0);
      task->target = query.Text(1);
      task->device = model;
    }
    if (!query.IsNull(7)) task->graph = query.Text(7);
    task->trials += query.Int(4);
    task->verified += query.Int(5);
    task->raced += query.Int(8);
    task->additional += query.Int(9);
    const std::int64_t outcome = query.Int(3);
    if (outcome != 0) task->failed += query.Int(4) - query.Int(9);
    const bool known = outcome >= 0 && outcome <= static_cast<int>(Outcome::kDeviceLost);
    task->outcomes[known ? std::string(OutcomeName(static_cast<Outcome>(outcome))) : "unknown"] +=
        query.Int(4);
    if (!query.IsNull(6) && (task->best == 0 || query.Real(6) < task->best)) {
      task->best = query.Real(6);
    }
  }
}

}  // namespace

Result<StoreSummary> Summarize(const TemplateRegistry& templates, const std::string& path) {
  if (!FileExists(path)) return NotFound(path + ": no such record store");
  TW_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Mode::kReadOnly));
  TW_RETURN_IF_ERROR(CheckSchema(db, path));
  TW_RETURN_IF_ERROR(FindCurrent(templates, db, "main"));
  StoreSummary summary;
  summary.schema = SchemaVersion();
  TW_ASSIGN_OR_RETURN(summary.store_id, StoreIdOf(db, "main"));
  for (const auto& [sql, out] : std::initializer_list<std::pair<const char*, std::int64_t*>>{
           {"SELECT count(*) FROM trial", &summary.trials},
           {"SELECT count(*) FROM job", &summary.jobs},
           {"SELECT count(*) FROM job WHERE NOT finished", &summary.unfinished_jobs},
           {"SELECT count(*) FROM log", &summary.log_entries},
           {"SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size",
            &summary.free_bytes}}) {
    auto number = QueryInt(db, sql);
    if (!number.ok()) return number.status().WithContext(path);
    *out = *number;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) summary.file_bytes = info.st_size;
  TW_ASSIGN_OR_RETURN(
      auto dates,
      Statement::Prepare(
          db, "SELECT ifnull(min(nullif(finished, 0)), 0), ifnull(max(finished), 0) FROM trial"));
  TW_RETURN_IF_ERROR(dates.Step());
  summary.oldest_unix_seconds = dates.Real(0);
  summary.newest_unix_seconds = dates.Real(1);
  TW_ASSIGN_OR_RETURN(
      auto stores,
      Statement::Prepare(
          db,
          "SELECT CASE WHEN instr(j.name, '@') > 0 THEN substr(j.name, instr(j.name, '@') + 1)"
          " ELSE ?1 END, count(*) FROM trial t JOIN job j ON j.id = t.job GROUP BY 1"));
  stores.Bind(1, summary.store_id);
  while (true) {
    TW_ASSIGN_OR_RETURN(auto one, stores.Step());
    if (!one) break;
    summary.stores[std::string(stores.Text(0))] = stores.Int(1);
  }
  const Status tasks = SummarizeTasks(db, summary);
  if (!tasks.ok()) return tasks.WithContext(path);
  return summary;
}

Result<std::vector<BestTrial>> BestOfStore(const TemplateRegistry& templates,
                                           const std::string& path, std::int64_t top) {
  if (!FileExists(path)) return NotFound(path + ": no such record store");
  TW_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Mode::kReadOnly));
  TW_RETURN_IF_ERROR(CheckSchema(db, path));
  TW_RETURN_IF_ERROR(FindCurrent(templates, db, "main"));
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(
          db,
          "SELECT " + std::string(kTrialColumns) +
              ", max(ifnull(best.ties, '')), count(best.trial) FROM trial JOIN workload w ON"
              " w.id = trial.workload JOIN target g ON g.id = trial.target LEFT JOIN best ON"
              " best.trial = trial.id WHERE trial.id IN (" +
              SelectServed("main", top) +
              ") GROUP BY trial.id ORDER BY w.key, g.text, trial.device, count(best.trial) = 0, " +
              std::string(kNoisySql) + ", trial.value, trial.config_index"));
  constexpr int kTiesColumn = kTrialColumnCount, kRacedColumn = kTiesColumn + 1;
  std::vector<BestTrial> list;
  TextCache cache;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return list;
    auto record = ReadRow(db, query, cache);
    if (!record.ok()) return record.status().WithContext(path);
    BestTrial best{*std::move(record), query.Int(kRacedColumn) > 0, {}};
    for (const std::string& index : Split(query.Text(kTiesColumn), ',')) {
      auto number = ParseInt64(index);
      if (number.ok() && *number != best.record.trial.candidate.config.index) {
        best.tied.push_back(*number);
      }
    }
    list.push_back(std::move(best));
  }
}

}  // namespace tilewright::records
