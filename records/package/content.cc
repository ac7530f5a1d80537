#include "records/package/content.h"

#include <sqlite3.h>

#include <algorithm>
#include <set>

#include "records/image.h"
#include "records/row.h"
#include "records/schema.h"
#include "records/tables.h"
#include "records/validation/row_validator.h"
#include "records/validation/schedules.h"
#include "src/base/printable.h"

namespace tilewright::records {
namespace {

/// Returns the first row and column of a statement as text; empty if there is no row.
Result<std::string> FirstText(const Database& db, const char* sql) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, sql));
  TW_ASSIGN_OR_RETURN(auto row, query.Step());
  return row ? std::string(query.Text(0)) : std::string();
}

Status CheckDatabase(const Database& db) {
  TW_ASSIGN_OR_RETURN(auto integrity, FirstText(db, "PRAGMA integrity_check(1)"));
  if (integrity != "ok") return Corrupt("its database is damaged: " + integrity);
  TW_ASSIGN_OR_RETURN(auto dangling, FirstText(db, "PRAGMA foreign_key_check"));
  if (!dangling.empty()) return Corrupt("its database has rows that refer to nothing: " + dangling);
  TW_ASSIGN_OR_RETURN(auto stray, FirstText(db,
                                            "SELECT ifnull(b.trial, '?') FROM best b LEFT JOIN "
                                            "trial t ON t.id = b.trial AND t.workload ="
                                            " b.workload AND t.target = b.target AND t.device = "
                                            "b.device AND t.job = b.job WHERE t.id IS"
                                            " NULL"));
  if (!stray.empty()) return Corrupt("the winner of a race is none of its trials: " + stray);
  TW_ASSIGN_OR_RETURN(auto free, QueryInt(db, "PRAGMA freelist_count"));
  if (free != 0) return Corrupt("its database has " + std::to_string(free) + " unused pages");
  TW_ASSIGN_OR_RETURN(auto tables, ReadTables(db, "main"));
  const Table* trial = FindTable(tables, "trial");
  for (const Table& table : tables) {
    const bool needed = table.role == TableRole::kTrial || table.role == TableRole::kTrialDetail ||
                        std::ranges::find(trial->references, table.name, &Reference::table) !=
                            trial->references.end();
    if (table.role == TableRole::kText || table.role == TableRole::kJob) {
      const auto by = std::ranges::find(trial->references, table.name, &Reference::table);
      if (by != trial->references.end()) {
        TW_ASSIGN_OR_RETURN(auto unused, FirstText(db, ("SELECT id FROM " + table.name +
                                                        " WHERE id NOT IN (SELECT " + by->column +
                                                        " FROM trial) LIMIT 1")
                                                           .c_str()));
        if (!unused.empty()) {
          return Corrupt("of its table '" + table.name + "' no trial names row " + unused);
        }
      }
    }
    if (needed || table.name == "fact") continue;  // the only facts are schedule texts
    TW_ASSIGN_OR_RETURN(auto row,
                        FirstText(db, ("SELECT 'x' FROM " + table.name + " LIMIT 1").c_str()));
    if (!row.empty()) return Corrupt("its table '" + table.name + "' holds what no package holds");
  }
  return CheckScheduleTexts(db);
}

Status CheckTrial(const Record& record, const PackageManifest& manifest) {
  const Trial& trial = record.trial;
  const std::string place = "trial " + record.id.substr(0, 40) + ": ";
  if (trial.outcome != Outcome::kOk || !trial.verified) {
    return Corrupt(place + "not a verified one, which is all a package holds");
  }
  if (trial.codegen_version != manifest.codegen_version) {
    return Corrupt(place + "code generator version " + std::to_string(trial.codegen_version) +
                   ", the manifest says " + std::to_string(manifest.codegen_version));
  }
  return {};
}

/// Reads every trial and compares the counts with the manifest.
Status CheckPackagedTrials(const Database& db, const PackageManifest& manifest,
                           const TemplateRegistry* templates) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, "SELECT " + std::string(kTrialColumns) +
                                                             " FROM trial ORDER BY rowid"));
  TextCache cache;
  std::set<std::string> targets;
  std::set<std::int64_t> workloads, devices;
  std::int64_t trials = 0;
  double newest = 0;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) break;
    auto record = ReadRow(db, query, cache);
    if (!record.ok()) return Corrupt(record.status().message());
    TW_RETURN_IF_ERROR(CheckTrial(*record, manifest));
    ++trials;
    workloads.insert(query.Int(2));
    devices.insert(query.Int(4));
    targets.insert(record->trial.candidate.task.target.ToString());
    newest = std::max(newest, record->trial.finished_unix_seconds);
  }
  PackageManifest counted = manifest;
  counted.trials = trials;
  counted.tasks = static_cast<std::int64_t>(workloads.size());
  counted.devices = static_cast<std::int64_t>(devices.size());
  counted.targets = {targets.begin(), targets.end()};
  counted.newest_trial = UtcText(newest);
  if (!(counted == manifest)) {
    return Corrupt("its manifest does not describe its records: " + std::to_string(trials) +
                   " trials of " + std::to_string(counted.tasks) + " tasks, newest " +
                   counted.newest_trial);
  }
  const TemplateRegistry none;
  TW_ASSIGN_OR_RETURN(auto inspector,
                      RowValidator::Create(templates != nullptr ? *templates : none, db, "main"));
  std::string first;
  TW_RETURN_IF_ERROR(
      inspector.ForEachInvalid({}, [&](const std::string& id, const std::string& why) {
        first = "trial " + Printable(id.substr(0, 40)) + ": " + why;
        return false;
      }));
  return first.empty() ? Status() : Corrupt(first);
}

/// Checks the properties of a database of any schema. Returns its version.
Result<std::int64_t> CheckAsIs(const Database& db, const PackageManifest& manifest) {
  // Reading longer texts and bytes than those of any record is an error.
  constexpr int kMaxBytes = 1 << 20;
  sqlite3_limit(db.get(), SQLITE_LIMIT_LENGTH, kMaxBytes);
  TW_ASSIGN_OR_RETURN(auto version, StoreVersion(db, "its database"));
  if (version == 0 || version != manifest.schema) {
    return Corrupt("its database is of schema " + std::to_string(version) + ", its manifest says " +
                   std::to_string(manifest.schema));
  }
  TW_RETURN_IF_ERROR(CheckDatabase(db));
  return version;
}

}  // namespace

Status CheckHeader(std::string_view first, std::int64_t bytes) {
  // https://www.sqlite.org/fileformat.html, section 1.3: numbers are big-endian.
  constexpr std::string_view kStart("SQLite format 3\0", 16);
  constexpr std::int64_t kPage = 4096;  // page size of every package
  const auto number = [first](std::size_t at, int count) {
    std::int64_t value = 0;
    for (int i = 0; i < count; ++i) {
      value = value << 8 | static_cast<unsigned char>(first[at + static_cast<std::size_t>(i)]);
    }
    return value;
  };
  if (first.size() < kDatabaseHeaderBytes || !first.starts_with(kStart)) {
    return Corrupt("its payload is not a database");
  }
  if (number(16, 2) != kPage || number(28, 4) * kPage != bytes) {
    return Corrupt("its database says that it is of " + std::to_string(number(28, 4)) +
                   " pages of " + std::to_string(number(16, 2)) + " bytes, expected " +
                   std::to_string(bytes / kPage) + " of 4096");
  }
  if (number(18, 1) != 1 || number(19, 1) != 1)
    return Corrupt("its database keeps a log beside it");
  return {};
}

Status CheckContent(std::string& database, const PackageManifest& manifest,
                    const TemplateRegistry* templates) {
  {
    TW_ASSIGN_OR_RETURN(auto db, OpenImage(database));
    TW_ASSIGN_OR_RETURN(auto version, CheckAsIs(db, manifest));
    if (version == SchemaVersion()) return CheckPackagedTrials(db, manifest, templates);
  }
  TW_ASSIGN_OR_RETURN(auto writable, OpenImage(database, ImageMode::kWritable));
  TW_RETURN_IF_ERROR(MigrateSchema(writable, "its database"));
  TW_RETURN_IF_ERROR(CheckPackagedTrials(writable, manifest, templates));
  TW_ASSIGN_OR_RETURN(database, ImageOf(writable));
  return {};
}

Status CheckContentFile(const std::string& path, const PackageManifest& manifest,
                        const TemplateRegistry* templates) {
  TW_ASSIGN_OR_RETURN(auto db, OpenScratch(path));
  TW_ASSIGN_OR_RETURN(auto version, CheckAsIs(db, manifest));
  if (version != SchemaVersion()) TW_RETURN_IF_ERROR(MigrateSchema(db, "its database"));
  return CheckPackagedTrials(db, manifest, templates);
}

}  // namespace tilewright::records
