#include "records/package/content.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "records/image.h"
#include "records/package/schedules.h"
#include "records/row.h"
#include "records/schema.h"
#include "records/tables.h"

namespace tilewright::records {
namespace {

/// First row and column of a statement as text; empty if there is no row.
Result<std::string> FirstText(const Database& db, const char* sql) {
  auto query = Statement::Prepare(db, sql);
  TW_RETURN_IF_ERROR(query);
  auto row = query->Step();
  TW_RETURN_IF_ERROR(row);
  return *row ? std::string(query->Text(0)) : std::string();
}

Status CheckDatabase(const Database& db) {
  auto integrity = FirstText(db, "PRAGMA integrity_check(1)");
  TW_RETURN_IF_ERROR(integrity);
  if (*integrity != "ok") return Corrupt("its database is damaged: " + *integrity);
  auto dangling = FirstText(db, "PRAGMA foreign_key_check");
  TW_RETURN_IF_ERROR(dangling);
  if (!dangling->empty())
    return Corrupt("its database has rows that refer to nothing: " + *dangling);
  auto stray = FirstText(db, "SELECT trial FROM best WHERE trial NOT IN (SELECT id FROM trial)");
  TW_RETURN_IF_ERROR(stray);
  if (!stray->empty()) return Corrupt("the winner of a race is none of its trials: " + *stray);
  auto tables = ReadTables(db, "main");
  TW_RETURN_IF_ERROR(tables);
  const Table* trial = FindTable(*tables, "trial");
  for (const Table& table : *tables) {
    const bool needed = table.role == TableRole::kTrial || table.role == TableRole::kOfTrial ||
                        std::ranges::find(trial->references, table.name, &Reference::table) !=
                            trial->references.end();
    if (needed || table.name == "fact") continue;  // of facts only texts of schedules
    auto row = FirstText(db, ("SELECT 'x' FROM " + table.name + " LIMIT 1").c_str());
    TW_RETURN_IF_ERROR(row);
    if (!row->empty()) return Corrupt("its table '" + table.name + "' holds what no package holds");
  }
  return CheckScheduleTexts(db);
}

Status CheckTrial(const Record& record, const PackageManifest& manifest) {
  const Trial& trial = record.trial;
  const std::string place = "trial " + record.id.substr(0, 40) + ": ";
  if (trial.outcome != Outcome::kOk || !trial.verified) {
    return Corrupt(place + "not a verified one, which is all a package holds");
  }
  if (!std::isfinite(trial.value) || trial.value <= 0) {
    return Corrupt(place + "its value is not a positive number");
  }
  if (trial.codegen_version != manifest.codegen_version) {
    return Corrupt(place + "code generator version " + std::to_string(trial.codegen_version) +
                   ", the manifest says " + std::to_string(manifest.codegen_version));
  }
  return {};
}

/// Reads every trial and compares what is counted with the manifest.
Status CheckTrials(const Database& db, const PackageManifest& manifest) {
  auto query =
      Statement::Prepare(db, "SELECT " + std::string(kTrialColumns) + " FROM trial ORDER BY rowid");
  TW_RETURN_IF_ERROR(query);
  TextCache cache;
  std::set<std::string> targets;
  std::set<std::int64_t> workloads, devices;
  std::int64_t trials = 0;
  double newest = 0;
  while (true) {
    auto row = query->Step();
    TW_RETURN_IF_ERROR(row);
    if (!*row) break;
    auto record = ReadRow(db, *query, cache);
    if (!record.ok()) return Corrupt(record.status().message());
    TW_RETURN_IF_ERROR(CheckTrial(*record, manifest));
    ++trials;
    workloads.insert(query->Int(2));
    devices.insert(query->Int(4));
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
  return {};
}

}  // namespace

Status CheckContent(std::string& database, const PackageManifest& manifest) {
  const int current = SchemaVersion();
  {
    auto db = OpenImage(database);
    TW_RETURN_IF_ERROR(db);
    auto version = StoreVersion(*db, "its database");
    TW_RETURN_IF_ERROR(version);
    if (*version == 0 || *version != manifest.schema) {
      return Corrupt("its database is of schema " + std::to_string(*version) +
                     ", its manifest says " + std::to_string(manifest.schema));
    }
    TW_RETURN_IF_ERROR(CheckDatabase(*db));
    if (*version == current) return CheckTrials(*db, manifest);
  }
  auto writable = OpenImage(database, ImageMode::kWritable);
  TW_RETURN_IF_ERROR(writable);
  TW_RETURN_IF_ERROR(MigrateSchema(*writable, "its database"));
  TW_RETURN_IF_ERROR(CheckTrials(*writable, manifest));
  auto migrated = ImageOf(*writable);
  TW_RETURN_IF_ERROR(migrated);
  database = *std::move(migrated);
  return {};
}

}  // namespace tilewright::records
