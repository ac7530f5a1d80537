// Merges and splits stores: one transaction for each source, verified by count and digest before
// the commit.

#include "records/merge.h"

#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "records/copy.h"
#include "records/image.h"
#include "records/maintenance.h"
#include "records/schema.h"
#include "records/store.h"
#include "records/validation/row_validator.h"
#include "records/validation/schedules.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/templates/open/open_template.h"
#include "src/templates/template_keys.h"
#include "src/templates/text/text_template.h"

namespace tilewright::records {
namespace {

/// Creates or migrates the store, and reopens it as a plain database.
Result<Database> OpenForMerging(const std::string& path) {
  {
    // Creates or migrates it, and sets its id.
    auto store = Store::Open(path, Store::Mode::kReadWrite);
    TW_RETURN_IF_ERROR(store);
  }
  TW_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Mode::kReadWriteCreate));
  TW_RETURN_IF_ERROR(db.ExecuteWhenFree("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"));
  return db;
}

/// Errors: kCorrupt if the attached database is not a store, or has a newer schema.
Status CheckSource(const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto db, Database::Open(path, Database::Mode::kReadOnly));
  return ToStatus(StoreVersion(db, path));
}

/// Copies the facts of the source and its valid schedule texts. Facts from other stores that both
/// have are kept as they are in the destination.
Status CopyFacts(const Database& db, const std::string& source_id, const RowValidator& inspector,
                 const MergeReport& report) {
  const std::string prefix = "store/" + source_id + "/";
  TW_ASSIGN_OR_RETURN(
      auto texts,
      Statement::Prepare(
          db,
          "INSERT INTO main.fact (key, value) SELECT key, value FROM source.fact WHERE key = ?1"
          " ON CONFLICT (key) DO NOTHING"));
  TW_ASSIGN_OR_RETURN(
      auto keys, Statement::Prepare(db, "SELECT key FROM source.fact WHERE " + TextKeySql("key")));
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, keys.Step());
    if (!row) break;
    if (inspector.invalid_texts().contains(std::string(keys.Text(0)))) continue;
    texts.Bind(1, keys.Text(0));
    TW_RETURN_IF_ERROR(texts.Run());
  }
  TW_RETURN_IF_ERROR(
      db.Execute("INSERT OR IGNORE INTO main.fact (key, value) SELECT key, value FROM source.fact"
                 " WHERE key >= 'store/' AND key < 'store0' AND typeof(value) = 'text'"));
  TW_ASSIGN_OR_RETURN(
      auto own,
      Statement::Prepare(
          db,
          "INSERT OR REPLACE INTO main.fact (key, value) SELECT ?1 || key, value FROM source.fact"
          " WHERE key <> 'store_id' AND NOT (key >= 'store/' AND key < 'store0') AND NOT " +
              TextKeySql("key") + " AND typeof(key) = 'text' AND typeof(value) = 'text'"));
  TW_RETURN_IF_ERROR(own.Bind(1, prefix).Run());
  const Json merged = {{"trials", report.trials}, {"sha256", report.sha256}};
  TW_ASSIGN_OR_RETURN(auto note,
                      Statement::Prepare(db, "INSERT OR REPLACE INTO main.fact VALUES (?1, ?2)"));
  return note.Bind(1, prefix + "merged").Bind(2, DumpJson(merged)).Run();
}

/// Adds the store's schedule texts to the registry, so that source texts with the same names are
/// compared with them.
Status AddOwnTexts(const Database& db, TemplateRegistry& templates) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, "SELECT key, value FROM main.fact WHERE " +
                                                             TextKeySql("key")));
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return {};
    if (IsOpenTaskKey(query.Text(0))) {
      [[maybe_unused]] const Status added =
          AddOpenTaskText(templates, query.Text(0), query.Text(1), "an open task");
      continue;
    }
    auto parsed = ParseScheduleText(query.Text(1), "a schedule");
    if (!parsed.ok() || !AcceptScheduleKey(query.Text(0), *parsed)) continue;
    // A text registered earlier under this name is compared as well.
    [[maybe_unused]] const Status added = AddScheduleText(templates, *std::move(parsed));
  }
}

/// Counter and reporter of rejected rows of the source.
class Refusals {
 public:
  explicit Refusals(MergeReport& report) : report_(report) {}
  void Add(const std::string& why) {
    ++report_.refused;
    if (report_.reasons.size() < MergeReport::kMaxReasons) report_.reasons.push_back(why);
  }

 private:
  MergeReport& report_;
};

/// Excludes invalid rows from the copy. Returns the number of trials among them.
Result<std::int64_t> RefuseRows(const Database& db, RowValidator& inspector, Copier& copier,
                                Refusals& refusals) {
  for (const auto& [key, why] : inspector.invalid_texts()) refusals.Add(key + ": " + why);
  std::vector<std::string> ids;
  TW_RETURN_IF_ERROR(
      inspector.ForEachInvalid({}, [&](const std::string& id, const std::string& why) {
        ids.push_back(id);
        refusals.Add("trial " + id.substr(0, 40) + ": " + why);
        return true;
      }));
  for (const std::string& id : ids) TW_RETURN_IF_ERROR(copier.Exclude(id));
  std::vector<std::int64_t> imported;
  TW_RETURN_IF_ERROR(
      ForEachInvalidImported(db, "source", [&](std::int64_t id, const std::string& why) {
        imported.push_back(id);
        refusals.Add("imported record " + std::to_string(id) + ": " + why);
        return true;
      }));
  for (const std::int64_t id : imported) TW_RETURN_IF_ERROR(copier.ExcludeImported(id));
  TW_ASSIGN_OR_RETURN(
      auto stray,
      Statement::Prepare(
          db,
          "SELECT b.trial FROM source.best b LEFT JOIN source.trial t ON t.id = b.trial AND"
          " t.workload = b.workload AND t.target = b.target AND t.device = b.device AND"
          " t.job = b.job WHERE t.id IS NULL"));
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, stray.Step());
    if (!row) break;
    refusals.Add("winner of a race that is not a trial of its task: " +
                 std::string(stray.Text(0).substr(0, 40)));
  }
  return static_cast<std::int64_t>(ids.size());
}

Result<MergeReport> MergeOne(const TemplateRegistry& templates, const Database& db,
                             const std::string& path) {
  TW_ASSIGN_OR_RETURN(const auto attached, AttachedSource::Attach(db, path));
  TW_ASSIGN_OR_RETURN(auto source_id, StoreIdOf(db, "source"));
  TW_ASSIGN_OR_RETURN(auto own_id, StoreIdOf(db, "main"));
  MergeReport report;
  report.path = path;
  report.store_id = source_id;
  TW_ASSIGN_OR_RETURN(auto copier, Copier::Create(db, source_id, own_id));
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(db));
  TW_ASSIGN_OR_RETURN(auto before, QueryInt(db, "SELECT count(*) FROM main.trial"));
  TW_ASSIGN_OR_RETURN(auto log_before, QueryInt(db, "SELECT count(*) FROM main.log"));
  TemplateRegistry known = templates;
  TW_RETURN_IF_ERROR(AddOwnTexts(db, known));
  TW_ASSIGN_OR_RETURN(auto inspector, RowValidator::Create(known, db, "source"));
  Refusals refusals(report);
  TW_RETURN_IF_ERROR(copier.Choose("SELECT id FROM source.trial"));
  TW_ASSIGN_OR_RETURN(auto refused, RefuseRows(db, inspector, copier, refusals));
  TW_ASSIGN_OR_RETURN(
      auto shared,
      QueryInt(db, "SELECT count(*) FROM temp.chosen WHERE id IN (SELECT id FROM main.trial)"));
  TW_RETURN_IF_ERROR(copier.CopyTexts(true));
  TW_RETURN_IF_ERROR(copier.CopyTrials());
  TW_RETURN_IF_ERROR(copier.CopyTrialDetails());
  TW_RETURN_IF_ERROR(copier.CopyLogs([&](const std::string& why) { refusals.Add(why); }));
  TW_ASSIGN_OR_RETURN(auto proof, copier.CompareChecksums());
  report.trials = proof.trials;
  report.sha256 = proof.sha256;
  TW_ASSIGN_OR_RETURN(auto after, QueryInt(db, "SELECT count(*) FROM main.trial"));
  TW_ASSIGN_OR_RETURN(auto log_after, QueryInt(db, "SELECT count(*) FROM main.log"));
  TW_ASSIGN_OR_RETURN(auto there, QueryInt(db, "SELECT count(*) FROM source.trial"));
  report.added = after - before;
  report.log_entries_added = log_after - log_before;
  if (report.added != report.trials - shared || report.trials + refused != there) {
    return Corrupt("of " + std::to_string(there) + " trials, " + std::to_string(shared) +
                   " of them stored already, " + std::to_string(refused) + " rejected, " +
                   std::to_string(report.added) + " would be added");
  }
  TW_RETURN_IF_ERROR(CopyFacts(db, source_id, inspector, report));
  TW_RETURN_IF_ERROR(transaction.Commit());
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

/// Returns SQL of a table (id, value): the value that assigns each trial to a part.
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

/// As ValuesOf, of imported records.
std::string ImportedValuesOf(SplitBy by) {
  const std::string from = " AS value FROM source.imported i JOIN source.imported_";
  switch (by) {
    case SplitBy::kTarget:
      return "SELECT i.id, x.text" + from + "target x ON x.id = i.target";
    case SplitBy::kOperator:
      return "SELECT i.id, CASE x.workload WHEN '' THEN x.name ELSE"
             " substr(x.workload, 1, instr(x.workload, '(') - 1) END" +
             from + "task x ON x.id = i.task";
    case SplitBy::kDevice:
    case SplitBy::kJob:
      return "SELECT i.id, CASE x.package WHEN '' THEN x.file ELSE 'package ' || x.package END" +
             from + "source x ON x.id = i.source";
  }
  return {};
}

/// Returns whether the attached store has tables of imported records, as all but the oldest have.
Result<bool> HasImported(const Database& db) {
  TW_ASSIGN_OR_RETURN(
      auto tables,
      QueryInt(db, "SELECT count(*) FROM source.sqlite_schema WHERE name = 'imported'"));
  return tables > 0;
}

}  // namespace

Result<std::vector<MergeReport>> MergeStores(const TemplateRegistry& templates,
                                             const std::string& into,
                                             const std::vector<std::string>& from) {
  for (const std::string& path : from) {
    if (!FileExists(path)) return NotFound(path + ": no such record store");
    std::error_code ignored;
    if (std::filesystem::equivalent(path, into, ignored)) {
      return InvalidArgument(path + ": cannot be merged into itself");
    }
    TW_RETURN_IF_ERROR(CheckSource(path));
  }
  TW_ASSIGN_OR_RETURN(auto db, OpenForMerging(into));
  std::vector<MergeReport> reports;
  for (const std::string& path : from) {
    auto report = MergeOne(templates, db, path);
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
  TW_ASSIGN_OR_RETURN(auto db, OpenForMerging(part.path));
  TW_ASSIGN_OR_RETURN(const auto attached, AttachedSource::Attach(db, source));
  TW_ASSIGN_OR_RETURN(auto source_id, StoreIdOf(db, "source"));
  TW_ASSIGN_OR_RETURN(auto own_id, StoreIdOf(db, "main"));
  TW_ASSIGN_OR_RETURN(auto copier, Copier::Create(db, source_id, own_id));
  TW_ASSIGN_OR_RETURN(auto transaction, Transaction::Begin(db));
  TW_RETURN_IF_ERROR(
      copier.Choose("SELECT id FROM (" + ValuesOf(by) + ") WHERE value = " + Quoted(part.value)));
  TW_ASSIGN_OR_RETURN(const bool imports, HasImported(db));
  if (imports) {
    TW_RETURN_IF_ERROR(copier.ChooseImported("SELECT id FROM (" + ImportedValuesOf(by) +
                                             ") WHERE value = " + Quoted(part.value)));
  }
  TW_RETURN_IF_ERROR(copier.CopyTexts(false));
  TW_ASSIGN_OR_RETURN(part.imported, QueryInt(db, "SELECT count(*) FROM main.imported"));
  TW_RETURN_IF_ERROR(copier.CopyTrials());
  TW_RETURN_IF_ERROR(copier.CopyTrialDetails());
  TW_ASSIGN_OR_RETURN(auto proof, copier.CompareChecksums());
  part.trials = proof.trials;
  part.sha256 = proof.sha256;
  return transaction.Commit();
}

}  // namespace

Result<std::vector<SplitPart>> SplitStore(const std::string& store, const std::string& folder,
                                          SplitBy by) {
  if (!FileExists(store)) return NotFound(store + ": no such record store");
  TW_RETURN_IF_ERROR(CheckSource(store));
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Unavailable(folder + ": cannot be created: " + failed.message());
  // Copy of the store as of one moment, so that concurrent writers affect no part. The destructor
  // removes it.
  const ScopedTempPath copy = ScopedTempPath::NextTo(folder + "/" + "store.db");
  const std::string& path = copy.path();
  TW_RETURN_IF_ERROR(BackupStore(store, path));
  std::vector<SplitPart> parts;
  std::int64_t trials = 0, imported = 0;
  {
    TW_ASSIGN_OR_RETURN(auto db, OpenMemory());
    TW_ASSIGN_OR_RETURN(const auto attached, AttachedSource::Attach(db, path));
    TW_ASSIGN_OR_RETURN(trials, QueryInt(db, "SELECT count(*) FROM source.trial"));
    std::string all = "SELECT value FROM (" + ValuesOf(by) + ")";
    TW_ASSIGN_OR_RETURN(const bool imports, HasImported(db));
    if (imports) {
      TW_ASSIGN_OR_RETURN(imported, QueryInt(db, "SELECT count(*) FROM source.imported"));
      all += " UNION SELECT value FROM (" + ImportedValuesOf(by) + ")";
    }
    TW_ASSIGN_OR_RETURN(auto values, Statement::Prepare(db, "SELECT DISTINCT value FROM (" + all +
                                                                ") ORDER BY value"));
    while (true) {
      TW_ASSIGN_OR_RETURN(auto row, values.Step());
      if (!row) break;
      SplitPart part;
      part.value = values.Text(0);
      part.path = folder + "/" + FileNameOf(part.value);
      parts.push_back(std::move(part));
    }
  }
  std::int64_t copied = 0, copied_imported = 0;
  for (SplitPart& part : parts) {
    const Status filled = FillPart(path, part, by);
    if (!filled.ok()) return filled.WithContext(part.path);
    copied += part.trials;
    copied_imported += part.imported;
  }
  if (copied_imported != imported) {
    return Corrupt(store + ": of " + std::to_string(imported) + " imported records " +
                   std::to_string(copied_imported) + " are in the parts; the store is damaged");
  }
  if (copied != trials) {
    return Corrupt(store + ": of " + std::to_string(trials) + " trials " + std::to_string(copied) +
                   " are in the parts; the store is damaged");
  }
  return parts;
}

}  // namespace tilewright::records
