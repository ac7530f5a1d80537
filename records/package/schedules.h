#pragma once

#include <string>
#include <utility>
#include <vector>

#include "records/store.h"

namespace tilewright::records {

/// The schedules that are texts (docs/schedules.md) and that a store keeps for its records, as
/// facts of the store: template keys and canonical texts, by key. That a text is that of its key is
/// the reader's to check. Errors: those of reading.
Result<std::vector<std::pair<std::string, std::string>>> ScheduleTextsOf(const Store& store);

/// Keeps the texts that the registry has, for records to come. Errors: those of writing.
Status StoreScheduleTexts(Store& store, const TemplateRegistry& templates);

/// Copies from an attached store the texts that trials of the main one name.
/// Errors: those of writing.
Status CopyScheduleTexts(const Database& db, const std::string& source);

/// That a package's database has exactly the texts that its trials name, each the one of its name,
/// and no other facts. Errors: kCorrupt with what is wrong.
Status CheckScheduleTexts(const Database& db);

}  // namespace tilewright::records
