#pragma once

#include <string>
#include <utility>
#include <vector>

#include "records/store.h"

namespace tilewright::records {

/// Returns the text schedules (docs/schedules.md) that a store keeps for its records as facts:
/// template keys and canonical texts, by key. The caller checks that each text matches its key.
/// Errors: those of reading.
Result<std::vector<std::pair<std::string, std::string>>> ScheduleTextsOf(const Store& store);

/// Stores the registry's schedule texts for future records.
/// Errors: those of writing.
Status StoreScheduleTexts(Store& store, const TemplateRegistry& templates);

/// Copies the schedule texts that trials of the main store refer to from an attached store.
/// Errors: those of writing.
Status CopyScheduleTexts(const Database& db, const std::string& source);

/// Checks that a package's database has exactly the schedule texts that its trials refer to, each
/// with the matching key, and no other facts.
/// Errors: kCorrupt with the reason.
Status CheckScheduleTexts(const Database& db);

}  // namespace tilewright::records
