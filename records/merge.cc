// Merging and splitting stores: one transaction for each source, proved by count and digest before
// it is committed.

#include "records/merge.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "records/copy.h"
#include "records/image.h"
#include "records/network.h"
#include "records/schema.h"
#include "records/store.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/json.h"

namespace tilewright::records {
namespace {

/// Makes or migrates the store, and opens it again as a plain database.
Result<Database> OpenForMerging(const std::string& path) {
  {
    auto store = Store::Open(path, Store::Mode::kReadWrite);  // makes, migrates, names it
    TW_RETURN_IF_ERROR(store);
  }
  auto db = Database::Open(path, Database::Mode::kReadWriteCreate);
  TW_RETURN_IF_ERROR(db);
  TW_RETURN_IF_ERROR(db->Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"));
  return db;
}

/// Errors: kCorrupt if the attached store is none, or of a newer schema.
Status CheckSource(const std::string& path) {
  auto db = Database::Open(path, Database::Mode::kReadOnly);
  TW_RETURN_IF_ERROR(db);
  return ToStatus(StoreVersion(*db, path));
}

Status CopyFacts(const Database& db, const std::string& source_id, const MergeReport& report) {
  const std::string prefix = "store/" + source_id + "/";
  auto copy = Statement::Prepare(
      db,
      "INSERT OR REPLACE INTO main.fact (key, value) SELECT CASE WHEN key LIKE 'store/%'"
      " OR key LIKE 'schedule/%' THEN key ELSE ?1 || key END, value FROM source.fact WHERE key <> "
      "'store_id'");
  TW_RETURN_IF_ERROR(copy);
  TW_RETURN_IF_ERROR(copy->Bind(1, prefix).Run());
  const Json merged = {{"trials", report.trials}, {"sha256", report.sha256}};
  auto note = Statement::Prepare(db, "INSERT OR REPLACE INTO main.fact VALUES (?1, ?2)");
  TW_RETURN_IF_ERROR(note);
  return note->Bind(1, prefix + "merged").Bind(2, DumpJson(merged)).Run();
}

Result<MergeReport> MergeOne(const Database& db, const std::string& path) {
  auto attached = AttachedSource::Attach(db, path);
  TW_RETURN_IF_ERROR(attached);
  auto source_id = StoreIdOf(db, "source");
  TW_RETURN_IF_ERROR(source_id);
  auto own_id = StoreIdOf(db, "main");
  TW_RETURN_IF_ERROR(own_id);
  MergeReport report;
  report.path = path;
  report.store_id = *source_id;
  auto copier = Copier::Create(db, *source_id, *own_id);
  TW_RETURN_IF_ERROR(copier);
  auto transaction = Transaction::Begin(db);
  TW_RETURN_IF_ERROR(transaction);
  auto before = QueryInt(db, "SELECT count(*) FROM main.trial");
  TW_RETURN_IF_ERROR(before);
  auto log_before = QueryInt(db, "SELECT count(*) FROM main.log");
  TW_RETURN_IF_ERROR(log_before);
  TW_RETURN_IF_ERROR(copier->Choose("SELECT id FROM source.trial"));
  auto shared =
      QueryInt(db, "SELECT count(*) FROM temp.chosen WHERE id IN (SELECT id FROM main.trial)");
  TW_RETURN_IF_ERROR(shared);
  TW_RETURN_IF_ERROR(copier->CopyTexts(true));
  TW_RETURN_IF_ERROR(copier->CopyTrials());
  TW_RETURN_IF_ERROR(copier->CopyOfTrials());
  TW_RETURN_IF_ERROR(copier->CopyLogs());
  auto proof = copier->ProveSame();
  TW_RETURN_IF_ERROR(proof);
  report.trials = proof->trials;
  report.sha256 = proof->sha256;
  auto after = QueryInt(db, "SELECT count(*) FROM main.trial");
  TW_RETURN_IF_ERROR(after);
  auto log_after = QueryInt(db, "SELECT count(*) FROM main.log");
  TW_RETURN_IF_ERROR(log_after);
  auto there = QueryInt(db, "SELECT count(*) FROM source.trial");
  TW_RETURN_IF_ERROR(there);
  report.added = *after - *before;
  report.log_entries_added = *log_after - *log_before;
  if (report.added != report.trials - *shared || report.trials != *there) {
    return Corrupt("of " + std::to_string(*there) + " trials, " + std::to_string(*shared) +
                   " of them known, " + std::to_string(report.added) + " would be added");
  }
  TW_RETURN_IF_ERROR(CopyFacts(db, *source_id, report));
  TW_RETURN_IF_ERROR(transaction->Commit());
  return report;
}

std::string FileNameOf(std::string_view value) {
  std::string name;
  for (const char c : value) {
    const bool fine = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    if (fine || (!name.empty() && name.back() != '_')) name += fine ? c : '_';
  }
  return name.substr(0, 60) + "-" + HexOf(Mix64(Fnv1a64(value))).substr(0, 8) + ".db";
}

/// SQL of a table (id, value): the value by which each trial is cut.
std::string ValuesOf(SplitBy by) {
  switch (by) {
    case SplitBy::kTarget:
      return "SELECT t.id, x.text AS value FROM source.trial t JOIN source.target x"
             " ON x.id = t.target";
    case SplitBy::kDevice:
      return "SELECT t.id, ifnull(json_extract(x.text, '$.model'), '') AS value"
             " FROM source.trial t JOIN source.device x ON x.id = t.device";
    case SplitBy::kOperator:
      return "SELECT t.id, x.op AS value FROM source.trial t JOIN source.workload x"
             " ON x.id = t.workload";
    case SplitBy::kJob:
      return "SELECT t.id, x.name AS value FROM source.trial t JOIN source.job x ON x.id = t.job";
  }
  return {};
}

}  // namespace

Result<std::vector<MergeReport>> MergeStores(const std::string& into,
                                             const std::vector<std::string>& from) {
  for (const std::string& path : from) {
    if (!FileExists(path)) return NotFound(path + ": no such record store");
    std::error_code ignored;
    if (std::filesystem::equivalent(path, into, ignored)) {
      return InvalidArgument(path + ": cannot be merged into itself");
    }
    TW_RETURN_IF_ERROR(CheckSource(path));
  }
  auto db = OpenForMerging(into);
  TW_RETURN_IF_ERROR(db);
  std::vector<MergeReport> reports;
  for (const std::string& path : from) {
    auto report = MergeOne(*db, path);
    if (!report.ok()) {
      return report.status().WithContext(path + ": not merged into " + into);
    }
    reports.push_back(*std::move(report));
  }
  return reports;
}

Result<SplitBy> ParseSplitBy(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, SplitBy>, 4> kNames = {
      {{"target", SplitBy::kTarget},
       {"device", SplitBy::kDevice},
       {"op", SplitBy::kOperator},
       {"job", SplitBy::kJob}}};
  for (const auto& [name, by] : kNames) {
    if (name == text) return by;
  }
  return InvalidArgument("'" + std::string(text) + "': expected target, device, op or job");
}

namespace {

/// Fills one new store with the trials of one value.
Status FillPart(const std::string& source, SplitPart& part, SplitBy by) {
  if (FileExists(part.path)) return InvalidArgument(part.path + ": exists");
  auto db = OpenForMerging(part.path);
  TW_RETURN_IF_ERROR(db);
  auto attached = AttachedSource::Attach(*db, source);
  TW_RETURN_IF_ERROR(attached);
  auto source_id = StoreIdOf(*db, "source");
  TW_RETURN_IF_ERROR(source_id);
  auto own_id = StoreIdOf(*db, "main");
  TW_RETURN_IF_ERROR(own_id);
  auto copier = Copier::Create(*db, *source_id, *own_id);
  TW_RETURN_IF_ERROR(copier);
  auto transaction = Transaction::Begin(*db);
  TW_RETURN_IF_ERROR(transaction);
  TW_RETURN_IF_ERROR(
      copier->Choose("SELECT id FROM (" + ValuesOf(by) + ") WHERE value = " + Quoted(part.value)));
  TW_RETURN_IF_ERROR(copier->CopyTexts(false));
  TW_RETURN_IF_ERROR(copier->CopyTrials());
  TW_RETURN_IF_ERROR(copier->CopyOfTrials());
  auto proof = copier->ProveSame();
  TW_RETURN_IF_ERROR(proof);
  part.trials = proof->trials;
  part.sha256 = proof->sha256;
  return transaction->Commit();
}

}  // namespace

Result<std::vector<SplitPart>> SplitStore(const std::string& path, const std::string& folder,
                                          SplitBy by) {
  if (!FileExists(path)) return NotFound(path + ": no such record store");
  TW_RETURN_IF_ERROR(CheckSource(path));
  std::vector<SplitPart> parts;
  std::int64_t trials = 0;
  {
    auto db = OpenMemory();
    TW_RETURN_IF_ERROR(db);
    auto attached = AttachedSource::Attach(*db, path);
    TW_RETURN_IF_ERROR(attached);
    auto count = QueryInt(*db, "SELECT count(*) FROM source.trial");
    TW_RETURN_IF_ERROR(count);
    trials = *count;
    auto values =
        Statement::Prepare(*db, "SELECT DISTINCT value FROM (" + ValuesOf(by) + ") ORDER BY value");
    TW_RETURN_IF_ERROR(values);
    while (true) {
      auto row = values->Step();
      TW_RETURN_IF_ERROR(row);
      if (!*row) break;
      SplitPart part;
      part.value = values->Text(0);
      part.path = folder + "/" + FileNameOf(part.value);
      parts.push_back(std::move(part));
    }
  }
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Unavailable(folder + ": cannot be made: " + failed.message());
  std::int64_t copied = 0;
  for (SplitPart& part : parts) {
    const Status filled = FillPart(path, part, by);
    if (!filled.ok()) return filled.WithContext(part.path);
    copied += part.trials;
  }
  if (copied != trials) {
    return Corrupt(path + ": of " + std::to_string(trials) + " trials " + std::to_string(copied) +
                   " are in the parts; the store changed meanwhile, or is damaged");
  }
  return parts;
}

}  // namespace tilewright::records
