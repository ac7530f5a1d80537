// Record store: implements store.h on the tables of schema.cc.
//
// Durability: WAL with synchronous=FULL, so that a returned COMMIT has reached the disk. Append,
// which many processes call at once, commits with NORMAL, releases the write lock and then waits
// for the log to reach the disk. Meanwhile the next writer proceeds, and waiting writers share one
// flush. A checkpoint in between is safe, because it syncs the log before it moves pages. Append
// stores trials and log entries in one transaction: acknowledged ones survive kill -9 and power
// failure, others leave no trace. A trial's id is a hash of store, job, candidate and result.
// Storing a trial twice, or merging two stores, therefore keeps one row, and no row of another
// trial can replace it.

#include "records/store.h"

#include <sqlite3.h>
#include <unistd.h>

#include <unordered_map>

#include "records/image.h"
#include "records/network_file_system.h"
#include "records/row.h"
#include "records/schema.h"
#include "records/sqlite.h"
#include "records/store_impl.h"
#include "records/validation/identity.h"
#include "records/validation/rules.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"

namespace tilewright::records {
namespace {

/// Returns the number of a text in one of the tables (workload, target, …); adds it if it is new.
Result<std::int64_t> NumberOf(const Database& db, const char* insert, const char* select,
                              std::string_view text, std::string_view extra = {}) {
  TW_ASSIGN_OR_RETURN(auto found, Statement::Prepare(db, select));
  found.Bind(1, text);
  auto row = found.Step();
  TW_RETURN_IF_ERROR(row);
  if (*row) return found.Int(0);
  TW_ASSIGN_OR_RETURN(auto added, Statement::Prepare(db, insert));
  added.Bind(1, text);
  if (!extra.empty()) added.Bind(2, extra);
  TW_RETURN_IF_ERROR(added.Run());
  found.Reset();
  found.Bind(1, text);
  row = found.Step();
  TW_RETURN_IF_ERROR(row);
  return found.Int(0);
}

struct TrialNumbers {
  std::int64_t workload, target, device, epilogue;
};

/// Numbers found or created in one write transaction, by text. Invalid after the transaction:
/// another process, or a rollback, may remove them.
struct NumberCache {
  std::unordered_map<std::string, std::int64_t> workload, target, device, epilogue;
};

Result<TrialNumbers> NumbersOf(const Database& db, const TrialTexts& texts, NumberCache& cache) {
  const auto number = [&](std::unordered_map<std::string, std::int64_t>& known,
                          const std::string& text, const char* insert, const char* select,
                          std::string_view extra, std::int64_t& out) -> Status {
    const auto found = known.find(text);
    if (found != known.end()) {
      out = found->second;
      return {};
    }
    TW_ASSIGN_OR_RETURN(out, NumberOf(db, insert, select, text, extra));
    known.emplace(text, out);
    return {};
  };
  TrialNumbers n{};
  TW_RETURN_IF_ERROR(number(cache.workload, texts.workload,
                            "INSERT INTO workload (key, op) VALUES (?1, ?2)",
                            "SELECT id FROM workload WHERE key = ?1", texts.op, n.workload));
  TW_RETURN_IF_ERROR(number(cache.target, texts.target, "INSERT INTO target (text) VALUES (?1)",
                            "SELECT id FROM target WHERE text = ?1", {}, n.target));
  TW_RETURN_IF_ERROR(number(cache.device, texts.device, "INSERT INTO device (text) VALUES (?1)",
                            "SELECT id FROM device WHERE text = ?1", {}, n.device));
  TW_RETURN_IF_ERROR(number(cache.epilogue, texts.epilogue,
                            "INSERT INTO epilogue (text) VALUES (?1)",
                            "SELECT id FROM epilogue WHERE text = ?1", {}, n.epilogue));
  return n;
}

Result<std::string> JobName(const Database& db, std::int64_t job) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, "SELECT name FROM job WHERE id = ?1"));
  query.Bind(1, job);
  TW_ASSIGN_OR_RETURN(auto row, query.Step());
  if (!row) return NotFound("record store: no job " + std::to_string(job));
  return std::string(query.Text(0));
}

Status InsertTrial(Statement& insert, std::int64_t job, const std::string& id,
                   const TrialTexts& texts, const TrialNumbers& numbers, const Trial& trial) {
  const Candidate& c = trial.candidate;
  insert.Bind(1, id).Bind(2, job).Bind(3, numbers.workload).Bind(4, numbers.target);
  insert.Bind(5, numbers.device).Bind(6, numbers.epilogue).Bind(7, c.template_key);
  insert.Bind(8, c.template_version).Bind(9, trial.codegen_version).Bind(10, c.config.index);
  insert.Bind(11, texts.config).Bind(12, static_cast<int>(trial.outcome));
  insert.Bind(13, trial.reason).Bind(14, trial.metric).Bind(15, StoredNumber(trial.value));
  insert.Bind(16, StoredNumber(trial.noise));
  insert.BindBytes(17, trial.samples.data(), trial.samples.size() * sizeof(double));
  insert.Bind(18, trial.verified ? 1 : 0).Bind(19, StoredError(trial.max_abs_error));
  insert.Bind(20, StoredNumber(trial.build_seconds)).Bind(21, StoredNumber(trial.run_seconds));
  insert.Bind(22, trial.attempt).Bind(23, StoredNumber(trial.finished_unix_seconds));
  insert.Bind(24, StoredNumber(trial.clean_fraction));
  if (trial.predicted) {
    insert.Bind(25, StoredNumber(*trial.predicted));
  } else {
    insert.BindNull(25);
  }
  insert.Bind(26, texts.others);
  return insert.Run();
}

/// Checks that an existing row with the trial's id is the trial: an acknowledged trial must not be
/// lost to another row.
Status CheckIsThere(const Database& db, const std::string& store_id, const std::string& job_name,
                    const std::string& id, TextCache& texts) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, "SELECT " + std::string(kTrialColumns) +
                                                             " FROM trial WHERE trial.id = ?1"));
  query.Bind(1, id);
  TW_ASSIGN_OR_RETURN(auto row, query.Step());
  if (row) {
    const auto there = ReadRow(db, query, texts);
    if (there.ok() && TrialId(store_id, job_name, there->trial) == id) return {};
  }
  return Corrupt("another row has the id " + id +
                 " of a new trial, which is not stored; `tilewright records check` finds it");
}

/// Returns a migrated copy of a store of an older schema, in memory.
Result<Database> MigratedCopy(const Database& db, const std::string& path) {
  constexpr std::int64_t kMax = std::int64_t{1} << 28;
  TW_ASSIGN_OR_RETURN(
      auto bytes,
      QueryInt(db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"));
  if (bytes > kMax) return Unsupported(path + ": too large to be read from a copy in memory");
  TW_ASSIGN_OR_RETURN(auto image, ImageOf(db));
  constexpr std::size_t kJournalModes = 18;  // for writing and reading: 1, no write-ahead log
  if (image.size() > kJournalModes + 1) image[kJournalModes] = image[kJournalModes + 1] = 1;
  TW_ASSIGN_OR_RETURN(auto copy, records::OpenImage(image, ImageMode::kWritable));
  TW_RETURN_IF_ERROR(MigrateSchema(copy, path));
  return copy;
}

/// Commits without waiting for the disk during its lifetime, unless `full`.
class CommitMode {
 public:
  CommitMode(const Database& db, bool full) : db_(db), full_(full) {
    if (!full_) Set("PRAGMA synchronous = NORMAL");
  }
  CommitMode(const CommitMode&) = delete;
  CommitMode& operator=(const CommitMode&) = delete;
  ~CommitMode() {
    if (!full_) Set("PRAGMA synchronous = FULL");
  }

 private:
  void Set(const char* pragma) {
    // On failure the connection keeps FULL: slower, but equally safe.
    const Status ignored = db_.Execute(pragma);
    (void)ignored;
  }
  const Database& db_;
  bool full_;
};

/// Returns SQL for the rows of a filter, unordered; BindFilter sets its parameters.
std::string FilterSql(const TrialFilter& filter, std::string_view columns) {
  std::string where = " FROM trial WHERE 1";
  if (!filter.workload_key.empty()) {
    where += " AND workload = (SELECT id FROM workload WHERE key = ?1)";
  }
  if (!filter.target.empty()) where += " AND target = (SELECT id FROM target WHERE text = ?2)";
  if (!filter.template_key.empty()) where += " AND template = ?3";
  if (filter.outcome.has_value()) where += " AND outcome = ?4";
  if (filter.job != 0) where += " AND job = ?5";
  if (filter.other_than_codegen.has_value()) where += " AND codegen_version <> ?6";
  const std::string select = "SELECT " + std::string(columns);
  if (!filter.served) return select + where;
  // The order is that of Supersedes.
  return select +
         " FROM (SELECT *, row_number() OVER (PARTITION BY workload, target, device, epilogue,"
         " template, template_version, codegen_version, config_index ORDER BY attempt > 0 DESC,"
         " attempt < 0 DESC, " +
         EffectiveDateSql("finished") + " DESC, attempt DESC) AS place" + where +
         " AND outcome = 0 AND verified = 1) AS trial WHERE place = 1";
}

void BindFilter(const TrialFilter& filter, Statement& query) {
  if (!filter.workload_key.empty()) query.Bind(1, filter.workload_key);
  if (!filter.target.empty()) query.Bind(2, filter.target);
  if (!filter.template_key.empty()) query.Bind(3, filter.template_key);
  if (filter.outcome.has_value()) query.Bind(4, static_cast<int>(*filter.outcome));
  if (filter.job != 0) query.Bind(5, filter.job);
  if (filter.other_than_codegen.has_value()) query.Bind(6, *filter.other_than_codegen);
}

}  // namespace

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const std::string& Store::path() const { return impl_->path; }
const Database& Store::DatabaseOf(const Store& store) { return store.impl_->db; }

Result<Store> Store::Open(const std::string& path, Mode mode) {
  const bool write = mode == Mode::kReadWrite;
  if (!write && !FileExists(path)) return NotFound(path + ": no such record store");
  if (write) TW_RETURN_IF_ERROR(CheckLocalFileSystem(path));
  TW_ASSIGN_OR_RETURN(auto db, Database::Open(path, write ? Database::Mode::kReadWriteCreate
                                                          : Database::Mode::kReadOnly));
  if (write) {
    TW_RETURN_IF_ERROR(StoreVersion(db, path));  // before any change
    const Status wal = db.ExecuteWhenFree("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    if (!wal.ok()) return wal.WithContext(path);
    TW_RETURN_IF_ERROR(MigrateSchema(db, path));
  } else {
    if (const Status current = CheckSchema(db, path); !current.ok()) {
      if (current.code() != StatusCode::kUnsupported) return current;
      // An older store: migrate it if it is writable, then open it as requested; otherwise read a
      // migrated copy.
      if (Open(path, Mode::kReadWrite).ok()) return Open(path, mode);
      auto copy = MigratedCopy(db, path);
      if (!copy.ok()) return current;
      return Store(std::make_unique<Impl>(*std::move(copy), path));
    }
    // 64 MiB contain the pages that queries of a thousand tasks read; the default of 2 MiB rereads
    // most pages each time.
    TW_RETURN_IF_ERROR(db.Execute("PRAGMA cache_size = -65536"));
  }
  Store store(std::make_unique<Impl>(std::move(db), path));
  auto id = store.Fact("store_id");
  TW_RETURN_IF_ERROR(id);
  if (id->has_value()) {
    store.impl_->store_id = **id;
  } else if (write) {
    SystemClock clock;
    // Unique enough to distinguish stores when they are merged: time, process and path.
    const std::string seed = ShortName(clock.UnixSeconds(), ::getpid(), path);
    // Another process may create the same store at this moment: the first stored id counts.
    TW_ASSIGN_OR_RETURN(
        auto insert,
        Statement::Prepare(
            store.impl_->db,
            "INSERT INTO fact (key, value) VALUES ('store_id', ?1) ON CONFLICT (key) DO NOTHING"));
    TW_RETURN_IF_ERROR(insert.Bind(1, HexOf(Mix64(Fnv1a64(seed)))).Run());
    id = store.Fact("store_id");
    TW_RETURN_IF_ERROR(id);
    store.impl_->store_id = id->value_or("");
  }
  return store;
}

Result<Store> Store::OpenImmutable(const std::string& path) {
  if (!FileExists(path)) return NotFound(path + ": no such package database");
  TW_ASSIGN_OR_RETURN(auto db, records::OpenImmutable(path));
  TW_RETURN_IF_ERROR(CheckSchema(db, path));
  return Store(std::make_unique<Impl>(std::move(db), path));
}

Result<Store> Store::OpenMapped(std::shared_ptr<const MappedFile> file, const std::string& name) {
  TW_ASSIGN_OR_RETURN(auto db, OpenBytes(file->bytes()));
  TW_RETURN_IF_ERROR(CheckSchema(db, name));
  auto impl = std::make_unique<Impl>(std::move(db), name);
  impl->file = std::move(file);
  return Store(std::move(impl));
}

Result<Store> Store::OpenImage(std::string_view bytes, const std::string& name) {
  TW_ASSIGN_OR_RETURN(auto db, records::OpenImage(bytes));
  TW_RETURN_IF_ERROR(CheckSchema(db, name));
  return Store(std::make_unique<Impl>(std::move(db), name));
}

void Store::SetDurability(Durability durability) { impl_->durability = durability; }

Status Store::Append(std::int64_t job, const std::vector<Trial>& trials,
                     const std::vector<LogEntry>& log, const std::function<Status()>& check) {
  const StoreUseGuard use(*impl_);
  TW_RETURN_IF_ERROR(use.status());
  TW_ASSIGN_OR_RETURN(auto name, JobName(impl_->db, job));
  std::vector<TrialTexts> texts;
  std::vector<std::string> ids;
  texts.reserve(trials.size());
  for (const Trial& trial : trials) {
    texts.push_back(TextsOf(trial));
    ids.push_back(TrialId(impl_->store_id, name, trial, texts.back()));
  }
  TW_ASSIGN_OR_RETURN(
      auto insert,
      Statement::Prepare(
          impl_->db,
          "INSERT INTO trial (id, job, workload, target, device, epilogue, template,"
          " template_version, codegen_version, config_index, config, outcome, reason, metric, "
          "value,"
          " noise, samples, verified, max_abs_error, build_seconds, run_seconds, attempt, finished,"
          " quiet, predicted, others)"
          " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,"
          "?23,?24,?25,?26) ON CONFLICT (id) DO NOTHING"));
  TW_ASSIGN_OR_RETURN(
      auto add_entry,
      Statement::Prepare(impl_->db,
                         "INSERT INTO log (job, task, kind, payload) VALUES (?1, ?2, ?3, ?4)"));
  const CommitMode mode(impl_->db, impl_->durability == Durability::kDiskInTurn);
  // Until the commit no other process can write: do only the necessary work here.
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(impl_->db));
  if (check) TW_RETURN_IF_ERROR(check());
  NumberCache numbers;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    TW_ASSIGN_OR_RETURN(auto row, NumbersOf(impl_->db, texts[i], numbers));
    TW_RETURN_IF_ERROR(InsertTrial(insert, job, ids[i], texts[i], row, trials[i]));
    if (sqlite3_changes(impl_->db.get()) > 0) continue;
    const Status there = CheckIsThere(impl_->db, impl_->store_id, name, ids[i], impl_->texts);
    if (!there.ok()) return there.WithContext(impl_->path);
  }
  for (const LogEntry& entry : log) {
    add_entry.Bind(1, job).Bind(2, entry.task_key).Bind(3, entry.kind).Bind(4, entry.payload);
    TW_RETURN_IF_ERROR(add_entry.Run());
  }
  TW_RETURN_IF_ERROR(transaction.Commit());
  return impl_->durability == Durability::kDisk ? impl_->db.SyncLog() : Status();
}

Status Store::ForEachTrial(const TrialFilter& filter,
                           const std::function<Status(const Record&)>& visit) const {
  const StoreUseGuard use(*impl_);
  TW_RETURN_IF_ERROR(use.status());
  std::string sql = FilterSql(filter, kTrialColumns) +
                    (filter.served ? " ORDER BY value, config_index" : " ORDER BY rowid");
  if (filter.limit > 0) {
    sql += " LIMIT " + std::to_string(filter.limit) + " OFFSET " + std::to_string(filter.skip);
  }
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(impl_->db, sql));
  BindFilter(filter, query);
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return {};
    auto record = ReadRow(impl_->db, query, impl_->texts);
    if (filter.valid_for != nullptr) {
      const std::string why = InvalidRowReason(*impl_, *filter.valid_for, query, record);
      if (!why.empty()) {
        if (filter.refused) filter.refused(why);
        continue;
      }
    }
    TW_RETURN_IF_ERROR(record);
    TW_RETURN_IF_ERROR(visit(*record));
  }
}

Result<std::vector<Record>> Store::Trials(const TrialFilter& filter) const {
  std::vector<Record> records;
  TW_RETURN_IF_ERROR(ForEachTrial(filter, [&](const Record& record) {
    records.push_back(record);
    return Status();
  }));
  return records;
}

Result<std::int64_t> Store::CountTrials(const TrialFilter& filter) const {
  const StoreUseGuard use(*impl_);
  TW_RETURN_IF_ERROR(use.status());
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(impl_->db, FilterSql(filter, "count(*)")));
  BindFilter(filter, query);
  TW_RETURN_IF_ERROR(query.Step());
  return query.Int(0);
}

Status Store::StoreBest(std::int64_t job, const Trial& winner,
                        const std::vector<std::int64_t>& ties) {
  const StoreUseGuard use(*impl_);
  TW_RETURN_IF_ERROR(use.status());
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(impl_->db));
  TW_ASSIGN_OR_RETURN(auto name, JobName(impl_->db, job));
  const TrialTexts texts = TextsOf(winner);
  NumberCache cache;
  TW_ASSIGN_OR_RETURN(auto numbers, NumbersOf(impl_->db, texts, cache));
  std::string list;
  for (std::int64_t index : ties) list += (list.empty() ? "" : ",") + std::to_string(index);
  TW_ASSIGN_OR_RETURN(
      auto insert,
      Statement::Prepare(impl_->db,
                         "INSERT OR REPLACE INTO best (workload, target, device, job, trial, ties)"
                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  insert.Bind(1, numbers.workload).Bind(2, numbers.target).Bind(3, numbers.device);
  insert.Bind(4, job).Bind(5, TrialId(impl_->store_id, name, winner, texts)).Bind(6, list);
  TW_RETURN_IF_ERROR(insert.Run());
  return transaction.Commit();
}

Status Store::SetFact(std::string_view key, std::string_view value) {
  const StoreUseGuard use(*impl_);
  TW_RETURN_IF_ERROR(use.status());
  TW_ASSIGN_OR_RETURN(
      auto insert,
      Statement::Prepare(impl_->db, "INSERT OR REPLACE INTO fact (key, value) VALUES (?1, ?2)"));
  return insert.Bind(1, key).Bind(2, value).Run();
}

Result<std::optional<std::string>> Store::Fact(std::string_view key) const {
  const StoreUseGuard use(*impl_);
  TW_RETURN_IF_ERROR(use.status());
  TW_ASSIGN_OR_RETURN(auto query,
                      Statement::Prepare(impl_->db, "SELECT value FROM fact WHERE key = ?1"));
  query.Bind(1, key);
  TW_ASSIGN_OR_RETURN(auto row, query.Step());
  if (!row) return std::optional<std::string>();
  return std::optional<std::string>(std::string(query.Text(0)));
}

Status Store::Check() const {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(impl_->db, "PRAGMA integrity_check"));
  TW_RETURN_IF_ERROR(query.Step());
  if (query.Text(0) == "ok") return {};
  return Corrupt(impl_->path + ": " + std::string(query.Text(0)));
}

}  // namespace tilewright::records
